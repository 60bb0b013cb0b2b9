// SPDX-License-Identifier: Apache-2.0
// The stamp of the sources of the page: a hash of their names and contents. tests/checks/page.py computes the same.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FILES = ["build.mjs", "package-lock.json", "package.json", "sources.mjs", "tsconfig.json"];

function below(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? below(root, path) : [path];
  });
}

export function sourcesStamp(root) {
  const hash = createHash("sha256");
  const paths = [...FILES, ...below(root, "src")].sort((a, b) => (a < b ? -1 : 1));
  for (const path of paths) {
    const own = createHash("sha256").update(readFileSync(join(root, path))).digest("hex");
    hash.update(`${path} ${own}\n`);
  }
  return hash.digest("hex");
}
