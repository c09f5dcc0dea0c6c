import { defineConfig } from "vitest/config";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  test: {
    environment: "jsdom",
    include: ["test/**/*.test.{ts,tsx}"],
    css: false,
    setupFiles: ["test/setup.ts"],
    isolate: false, // one document per process: creating one per file takes as long as the tests
    testTimeout: 600_000, // ends a hanging test; a shorter limit fails on a busy machine
  },
});
