// SPDX-License-Identifier: Apache-2.0
// Choosing a part of the time on a page, and what it then shows.

export const rows = (page) => page.$$eval(".table tbody th button", (all) => all.slice(0, 4).map((one) => one.textContent));
/** The last one's number. */
export const points = (page) => page.$eval(".timeline input", (one) => Number(one.max));
export const waitFor = (page, condition, argument) => page.waitForFunction(condition, argument, { timeout: 60_000 });

/** Whether it shows what changed between two moments, or a look alone; the title says of when. */
export const isPart = (page, wanted) =>
  waitFor(page, (isTwo) => /^\d{4}-/.test(document.querySelector("h1").textContent) && document.querySelector("h1").textContent.includes(" to ") === isTwo, wanted);

/** Waits until the page has it: looks come meanwhile. */
export async function slide(page, which, to) {
  const change = ([at, value]) => {
    const slider = document.querySelectorAll(".timeline input")[at];
    if (slider.value === String(value) && slider.dataset.moved === String(value)) return true;
    slider.value = String(value);
    slider.dataset.moved = String(value);
    slider.dispatchEvent(new window.InputEvent("input", { bubbles: true }));
    return false;
  };
  await waitFor(page, change, [which, to]);
}
