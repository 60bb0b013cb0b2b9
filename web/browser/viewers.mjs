// SPDX-License-Identifier: Apache-2.0
// Exported files in the viewers that they are for: Chromium's own DevTools, and valgrind's page for DHAT.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const DHAT = "/usr/libexec/valgrind/dh_view.html";
const PROGRAM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** A Chromium with its own DevTools at an address. */
async function devTools(folder) {
  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0", "--remote-allow-origins=*"];
  const context = await chromium.launchPersistentContext(folder, { executablePath: PROGRAM, args });
  const [port] = readFileSync(join(folder, "DevToolsActivePort"), "utf8").split("\n");
  const targets = await (await globalThis.fetch(`http://127.0.0.1:${port}/json`)).json();
  const { id } = targets.find((one) => one.type === "page");
  const page = await context.newPage();
  await page.setViewportSize({ width: 1400, height: 900 });
  await page.goto(`http://127.0.0.1:${port}/devtools/devtools_app.html?ws=127.0.0.1:${port}/devtools/page/${id}&panel=heap-profiler`);
  return { context, page };
}

async function load(page, button, file) {
  await button.waitFor({ timeout: 60_000 });
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), button.click()]);
  await chooser.setFiles(file);
}

/** `profile`: of a program whose function load() holds most. */
export async function viewers({ check, picture }, memprof, profile) {
  const folder = mkdtempSync(join(tmpdir(), "viewers-"));
  const exported = (name) => {
    execFileSync(memprof, ["export", profile, "-o", join(folder, name), "--no-debuginfod"]);
    return join(folder, name);
  };
  const { totals } = JSON.parse(execFileSync(memprof, ["report", profile, "--json", "--no-debuginfod"], { encoding: "utf8", maxBuffer: 1 << 28 }));
  try {
    const { context, page } = await devTools(join(folder, "chromium"));
    await load(page, page.getByText("Load profile").first(), exported("x.heapprofile"));
    await page.getByRole("treeitem", { name: "x, Loaded" }).click();
    const row = page.locator("tr", { hasText: "threads.py" }).first();
    await row.waitFor({ timeout: 60_000 });
    const text = await row.textContent();
    check("DevTools show the function that holds most", /load/.test(text) && /%/.test(text), text);
    await picture(page, "devtools");
    await context.close();

    const browser = await chromium.launch({ executablePath: PROGRAM, args: ["--no-sandbox", "--disable-gpu"] });
    const dhat = await browser.newPage();
    await dhat.goto(pathToFileURL(DHAT).href);
    await load(dhat, dhat.getByText("Load").first(), exported("x.dhat.json"));
    await dhat.getByText("Invocation {").first().waitFor({ timeout: 60_000 });
    const shown = await dhat.evaluate(() => document.body.innerText);
    const most = /At t-gmax: ([\d,]+) bytes \(100%\) in ([\d,]+) blocks/.exec(shown) ?? [];
    const numbers = most.slice(1).map((one) => Number(one.replaceAll(",", "")));
    const wanted = [totals.peak_space.value, totals.peak_objects.value];
    check("DHAT's page has the peak of the report", numbers.join() === wanted.join(), `${numbers.join()} for ${wanted.join()}`);
    await browser.close();
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
