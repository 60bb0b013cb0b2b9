// SPDX-License-Identifier: Apache-2.0
// Everything that a reader can do, without a pointer.

const step = (page) => page.$eval(".breadcrumb li:last-child", (one) => one.textContent.trim());
const total = (page) => page.$eval(".total strong", (one) => one.textContent);

/** Whether Tab leads to what has that label, from where the focus is and not past the end: Firefox has its own buttons there. */
async function tabTo(page, label, key = "Tab") {
  for (let i = 0; i < 400; ++i) {
    await page.keyboard.press(key);
    const own = await page.evaluate(() => {
      const one = document.activeElement;
      return (one.getAttribute("aria-label") ?? one.closest("label")?.textContent ?? one.textContent).trim();
    });
    if (own.startsWith(label)) return true;
  }
  return false;
}

async function choices({ open, check }) {
  const { page, errors, close } = await open("python.html");
  const [name] = await page.$$eval(".table tbody th button", (all) => all.map((one) => one.textContent));
  const peak = await total(page);
  check("Tab reaches the metric", await tabTo(page, "Metric"));
  await page.keyboard.type("All");
  await page.waitForFunction((old) => document.querySelector(".total strong").textContent !== old, peak);
  check("keys choose a metric", (await page.$eval(".total", (one) => one.textContent)).startsWith("Allocated"));
  check("Tab reaches the search", await tabTo(page, "Search"));
  await page.keyboard.type("JSON");
  await page.waitForSelector("tr.marked");
  check("Tab reaches focus", await tabTo(page, "Focus"));
  await page.keyboard.type("json");
  await page.waitForFunction(() => document.querySelector(".total").textContent.includes("% of"));
  check("Tab reaches frames and names", await tabTo(page, "Frames and names"));
  await page.keyboard.press("Enter");
  check("Tab reaches a switch", await tabTo(page, "interpreter"));
  await page.keyboard.press("Space");
  await page.waitForFunction(() => location.hash.includes("show=i"));
  check("Tab reaches reset", await tabTo(page, "Reset"));
  await page.keyboard.press("Enter");
  check("keys reset", (await total(page)) === peak, await total(page));
  check("Tab reaches the titles", await tabTo(page, "cumulative"));
  await page.keyboard.press("Enter");
  check("Enter sorts", (await page.$eval("th[aria-sort=descending]", (one) => one.textContent)).startsWith("cumulative"));
  check("Tab reaches a row", await tabTo(page, name));
  await page.keyboard.press("Enter");
  check("Enter leads to its place", (await step(page)) === name, await step(page));
  check("Tab reaches callers and callees", await tabTo(page, "Callers and callees of"));
  await page.keyboard.press("Enter");
  await page.waitForSelector(".sandwich");
  check("Shift and Tab reach the way back", await tabTo(page, "Back to the graph", "Shift+Tab"));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".sandwich") === null);
  check("Tab reaches sizes and lifetimes", await tabTo(page, "Sizes and lifetimes"));
  await page.keyboard.press("Enter");
  await page.waitForSelector(".histograms table");
  check("keys: no errors", errors.length === 0, errors.join("; "));
  await close();
}

async function graph({ open, check }) {
  const { page, close } = await open("python.html");
  for (let i = 0; i < 40; ++i) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate(() => document.activeElement.tagName)) === "CANVAS") break;
  }
  check("Tab reaches the graph", (await page.evaluate(() => document.activeElement.tagName)) === "CANVAS");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const said = await page.$eval(".icicle [role=status]", (one) => one.textContent);
  check("arrows say where they are", /: [\d.]+ [KM]iB \(95 %: .* to .*\), /.test(said), said);
  await page.keyboard.press("Enter");
  check("Enter zooms", said.startsWith(await step(page)), await step(page));
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  check("Escape leads back", (await step(page)) === "Whole profile");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Home");
  const top = await page.$eval(".icicle [role=status]", (one) => one.textContent);
  check("Home leads to the whole", top.startsWith("whole profile"), top);
  await close();
}

export async function keysOnly(tools) {
  await graph(tools);
  await choices(tools);
}
