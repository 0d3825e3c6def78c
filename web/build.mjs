// Builds the page into crates/mercer-serve/page, where the server embeds it. With --check nothing is written, and the exit
// code says whether what is there is what would be built.
import { build } from "esbuild";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const page = join(here, "../crates/mercer-serve/page");
const check = process.argv.includes("--check");

const bundle = await build({
  entryPoints: { app: join(here, "src/main.jsx") },
  bundle: true,
  minify: true,
  write: false,
  outdir: page,
  format: "iife",
  target: ["chrome109", "firefox115", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
});

const licences = ["preact", "uplot"].map((name) => {
  const { version } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}\n`;
});
const files = {
  ...Object.fromEntries(bundle.outputFiles.map((file) => [file.path.slice(page.length + 1), file.text])),
  "index.html": readFileSync(join(here, "src/index.html"), "utf8"),
  "icon.svg": readFileSync(join(here, "src/icon.svg"), "utf8"),
  "licences.txt": `The page contains these, each under its licence.\n\n${licences.join("\n")}`,
};

let stale = [];
for (const [name, text] of Object.entries(files)) {
  const path = join(page, name);
  if (!check) writeFileSync(path, text);
  else if (!existsSync(path) || readFileSync(path, "utf8") !== text) stale.push(name);
}
if (stale.length > 0) {
  console.error(`crates/mercer-serve/page is not what web/ builds: ${stale.join(", ")}; run 'npm run build' in web/`);
  process.exit(1);
}
