// SPDX-License-Identifier: Apache-2.0
// How long a page of 100,000 stacks takes. Figures are printed; what is checked is far from them, as machines differ.
import { statSync } from "node:fs";
import { join } from "node:path";

const MOST_FILE_BYTES = 6_000_000;
const ZOOMS = 9;

/** Milliseconds from `act` to the picture after it. */
function timed(page, act) {
  return page.evaluate(async (source) => {
    const begin = performance.now();
    await new Function(`return (${source})()`)();
    await new Promise((done) => window.requestAnimationFrame(() => setTimeout(done, 0)));
    return performance.now() - begin;
  }, act.toString());
}

export async function speed({ open, check }, folder) {
  const size = statSync(join(folder, "large.html")).size;
  check("file of 100,000 stacks", size <= MOST_FILE_BYTES, `${(size / 1e6).toFixed(2)} MB`);
  const { page, errors, close } = await open("large.html", "", { bypassCSP: true });
  const ready = await page.evaluate(() => performance.now());
  const stacks = await page.$eval("header summary", (one) => one.textContent);
  check("it opens", Number(/([\d,]+) stacks/.exec(stacks)[1].replace(",", "")) >= 100_000, `${Math.round(ready)} ms to the first picture; ${stacks}`);
  const zooms = [];
  for (let i = 0; i < ZOOMS; ++i) {
    zooms.push(
      await timed(page, () => {
        const canvas = document.querySelector(".icicle canvas");
        const { left, top } = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new window.MouseEvent("click", { bubbles: true, clientX: left + 80, clientY: top + 110 }));
      }),
    );
    await page.evaluate(() => window.history.back());
    await page.waitForTimeout(500);
  }
  const [first] = zooms;
  zooms.sort((a, b) => a - b);
  const rounded = [first, zooms[(ZOOMS - 1) / 2], zooms[0]].map((ms) => Math.round(ms));
  check("zoom", true, `the first ${rounded[0]} ms, the middle of ${ZOOMS} ${rounded[1]} ms, the fastest ${rounded[2]} ms`);
  const search = await timed(page, async () => {
    const input = [...document.querySelectorAll(".toolbar label")].find((one) => one.textContent === "Search").querySelector("input");
    input.value = "alloc";
    input.dispatchEvent(new window.InputEvent("input", { bubbles: true }));
    await new Promise((done) => setTimeout(done, 0)); // the page has seen it
    input.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    while (!document.querySelector("header [role=status]")) await new Promise((done) => setTimeout(done, 1));
  });
  check("search", true, `${Math.round(search)} ms`);
  const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
  check("browser heap", true, `${Math.round(heap / 1e6)} MB`);
  const rows = () => page.$$eval(".table tbody th button", (all) => all.length);
  const before = await rows();
  await page.getByRole("button", { name: "Show more" }).click();
  await page.waitForFunction((least) => document.querySelectorAll(".table tbody tr").length > least, before);
  check("more rows", before === 100 && (await rows()) === 500, `${before} to ${await rows()}`);
  // By process: one below the whole is another colour than its neighbour, and those below it have its own.
  const choice = page.locator('.toolbar label:has(> span:text-is("Colour by")) >> css=select');
  await choice.selectOption("process");
  await page.waitForTimeout(400);
  const [colour, below, next] = await page.evaluate(() => {
    const canvas = document.querySelector(".icicle canvas");
    const at = (x, row) => [...canvas.getContext("2d").getImageData(x, row * 20 + 2, 1, 1).data].join();
    const last = canvas.width - 6;
    return [at(2, 1), at(2, 3), at(last, 1)];
  });
  check("colours by process", colour === below && colour !== next, [colour, below, next].join(" "));
  check("no errors in the large page", errors.length === 0, errors.join("; "));
  await close();
}
