import { defineConfig } from "vitest/config";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  test: { environment: "jsdom", include: ["test/**/*.test.{ts,tsx}"], css: false, setupFiles: ["test/setup.ts"] },
});
