import { defineConfig } from "vitest/config";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  test: {
    environment: "jsdom",
    include: ["test/**/*.test.{ts,tsx}"],
    css: false,
    setupFiles: ["test/setup.ts"],
    isolate: false, // one document a process: to make one for each file takes as long as the tests
    testTimeout: 600_000, // so that one that hangs ends; on a busy machine a shorter one measures the machine
  },
});
