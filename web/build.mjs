// SPDX-License-Identifier: Apache-2.0
// Bundles the page into one file: node build.mjs [OUT]. The same sources give the same bytes.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { sourcesStamp } from "./sources.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(root, "../src/profile/page/built/page.html");

async function bundled(entry) {
  const result = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: ["chrome80", "firefox113", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "ascii", // names of any encoding stand beside it
    legalComments: "inline",
  });
  // Nothing in it may end the element that it stands in.
  return result.outputFiles[0].text.trim().replaceAll("</script", "<\\/script");
}

const hashOf = (text) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
const script = await bundled("src/main.tsx");
const style = await bundled("src/page.css");
const parts = {
  "%SCRIPT_HASH%": hashOf(script),
  "%STYLE_HASH%": hashOf(style),
  "%SOURCES%": sourcesStamp(root),
  "%SCRIPT%": script,
  "%STYLE%": style,
};
let page = readFileSync(join(root, "src/page.html"), "utf8");
for (const [mark, text] of Object.entries(parts)) page = page.replace(mark, () => text);
writeFileSync(out, page);
console.log(`${out}: ${Math.round(page.length / 1024)} KiB`);
