// SPDX-License-Identifier: Apache-2.0
// The page in real browsers: node browser/run.mjs FOLDER [BROWSER...], where FOLDER has the pages that ./dev web makes
// (python.html, hostile.html, diff.html, large.html). CHROMIUM and FIREFOX name the programs, MEMPROF the command.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { BROWSERS } from "./browsers.mjs";
import { live } from "./live.mjs";
import { interactions } from "./interactions.mjs";
import { series } from "./series.mjs";
import { source } from "./source.mjs";
import { speed } from "./speed.mjs";
import { viewers } from "./viewers.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const [folder, ...chosen] = process.argv.slice(2);
const pictures = join(folder, "pictures");
mkdirSync(pictures, { recursive: true });
let browser = null; // that is being tried
let failed = 0;

/** A page, by its name in the folder or by its address, in a context of its own; whatever it loads from elsewhere, or says of its policy, is an error. */
async function open(name, fragment = "", options = {}) {
  const context = await browser.context({ viewport: { width: 1400, height: 900 }, ...options });
  const isServed = name.startsWith("http:");
  if (!isServed) await context.setOffline(true);
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("dialog", (dialog) => errors.push(`dialog: ${dialog.message()}`) && void dialog.dismiss());
  page.on("request", (request) => {
    if (isServed && request.url().startsWith(name)) return;
    if (!/^(file|data):/.test(request.url())) errors.push(`request: ${request.url()}`);
  });
  await page.goto((isServed ? name : pathToFileURL(join(folder, name)).href) + fragment);
  if (options.javaScriptEnabled !== false) await page.waitForSelector("html[data-ready]", { timeout: 60_000 });
  return { page, errors, close: () => context.close() };
}

async function violations(page) {
  // The policy keeps scripts out; the debugger does not ask it.
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run());
  return result.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(" | ")}`);
}

/** Of Firefox none: the tool would add a style, which the page's policy refuses, and that is an error here. */
async function picture(page, name) {
  if (browser.name === "chromium") await page.screenshot({ path: join(pictures, `${name}.png`) });
}

const tools = {
  open,
  violations,
  print: (page) => browser.print(page),
  picture,
  check(what, isTrue, note = "") {
    if (!isTrue) ++failed;
    console.log(`${isTrue ? "ok" : "FAILED"}: ${browser.name}: ${what}${note === "" ? "" : ` (${note})`}`);
  },
};

for (const name of chosen.length > 0 ? chosen : Object.keys(BROWSERS)) {
  browser = new BROWSERS[name]();
  try {
    await browser.begin();
    await interactions(tools);
    if (name === "chromium") await viewers(tools, process.env.MEMPROF, join(folder, "profiles", "threads.pb.gz"));
    await source(tools, process.env.MEMPROF, folder);
    await live(tools, process.env.MEMPROF, folder);
    await series(tools, process.env.MEMPROF, folder);
    await speed(tools, folder);
  } catch (error) {
    tools.check("the tests run to their end", false, String(error));
  } finally {
    await browser.end();
  }
}
if (failed > 0) console.log(`${failed} FAILED; pictures are in ${pictures}`);
process.exitCode = failed > 0 ? 1 : 0;
