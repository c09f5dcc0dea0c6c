// Bundles the view into the Python package: one module, one stylesheet, the licences of bundled packages.
// `node build.mjs` writes them; `node build.mjs --check` fails if the committed bundle is older than the source.

import { build } from "esbuild";
import { readFile, writeFile, readdir, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "workbench", "app", "widgets", "static");

const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/index.tsx" },
  bundle: true,
  format: "esm",
  minify: true,
  target: ["chrome111", "firefox113", "safari16.4"],
  charset: "utf8",
  legalComments: "none", // licences are in LICENSES.txt
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { "process.env.NODE_ENV": '"production"' },
  outdir: target,
  metafile: true,
  write: false,
  logLevel: "warning",
});

const packages = new Set();
for (const path of Object.keys(result.metafile.inputs)) {
  const found = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) packages.add(found[1]);
}

const outputs = new Map(result.outputFiles.map((file) => [file.path, file.text]));
outputs.set(join(target, "LICENSES.txt"), await licences([...packages].sort()));

if (process.argv.includes("--check")) {
  const stale = [];
  for (const [path, text] of outputs) {
    if ((await readFile(path, "utf8").catch(() => "")) !== text) stale.push(path);
  }
  if (stale.length) {
    console.error(`older than frontend/src, run "npm run build": ${stale.join(", ")}`);
    process.exit(1);
  }
} else {
  await mkdir(target, { recursive: true });
  for (const [path, text] of outputs) await writeFile(path, text);
  for (const [path, text] of outputs) console.log(`${path} ${(text.length / 1024).toFixed(0)} KiB`);
}

async function licences(names) {
  const parts = ["What app.js contains beside the workbench's own source, and under which terms."];
  for (const name of names) {
    const folder = join(here, "node_modules", name);
    const about = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    if (!file) throw new Error(`${name} has no licence file`);
    const text = (await readFile(join(folder, file), "utf8")).trim();
    parts.push(`${"-".repeat(80)}\n${name} ${about.version} (${about.license})\n\n${text}`);
  }
  return `${parts.join("\n\n")}\n`;
}
