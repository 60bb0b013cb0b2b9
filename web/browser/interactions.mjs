// SPDX-License-Identifier: Apache-2.0
// Everything that a reader can do, by the pointer; by keys alone: keys.mjs.
import { keysOnly } from "./keys.mjs";

const rowNames = (page) => page.$$eval(".table tbody th button", (all) => all.map((one) => one.textContent));
const step = (page) => page.$eval(".breadcrumb li:last-child", (one) => one.textContent.trim());
const total = (page) => page.$eval(".total strong", (one) => one.textContent);
const label = (page, text) => page.locator(`.toolbar label:has(> span:text-is("${text}")) >> css=input, select`).first();

async function settled(page) {
  await page.waitForTimeout(400);
}

/** How often the graph is drawn while something is done, until all is computed. */
async function drawings(page, act) {
  await page.evaluate(() => {
    const { prototype } = window.HTMLCanvasElement;
    const original = prototype.getContext;
    window.drawn = 0;
    prototype.getContext = function (...rest) {
      ++window.drawn;
      return original.apply(this, rest);
    };
  });
  await act();
  await settled(page);
  return page.evaluate(() => window.drawn);
}

async function pythonPage({ open, violations, picture, check }) {
  const { page, errors, close } = await open("python.html");
  const names = await rowNames(page);
  check("rows are there", names.length > 10, `${names.length}`);
  check("it opens on the peak", (await page.$eval(".total", (one) => one.textContent)).startsWith("Peak: bytes"));
  check("the total has its interval", /95 %: .* to /.test(await page.$eval(".total", (one) => one.textContent)));
  await settled(page);
  const margins = await page.$$eval(".table tbody td.small", (all) => all.map((one) => one.textContent));
  check("rows have their intervals", margins.every((text) => /^(<?\d+%)?$/.test(text)) && margins[0] !== "", margins[0]);
  check("axe: whole page", (await violations(page)).length === 0, (await violations(page)).join("; "));
  await picture(page, "python");

  // A click in the graph zooms both; the back button takes it back.
  const canvas = page.locator(".icicle canvas");
  const drawn = await drawings(page, () => canvas.click({ position: { x: 60, y: 50 } }));
  const zoomed = await step(page);
  check("a click zooms", zoomed !== "Whole profile", zoomed);
  check("and draws the graph once", drawn === 1, `${drawn}`);
  const title = await canvas.evaluate((one) => one.title);
  check("the graph's words have the interval", /: .* \(95 %: .* to .*\), /.test(title), title);
  check("what is looked at has its interval", /95 %: .* to /.test(await page.$eval(".details dd:last-of-type", (one) => one.textContent)));
  check("the fragment says so", /z=\d+/.test(new URL(page.url()).hash));
  check("the table is of what is below", (await page.$eval("caption", (one) => one.textContent)).includes("below"));
  check("axe: zoomed", (await violations(page)).length === 0, (await violations(page)).join("; "));
  const address = page.url();
  await page.evaluate(() => window.history.back());
  await page.waitForFunction(() => !location.hash.includes("z="));
  check("back leads back", (await step(page)) === "Whole profile");
  await page.evaluate(() => window.history.forward());
  await settled(page);
  check("forward leads forward", (await step(page)) === zoomed);
  const again = await page.context().newPage();
  await again.goto(address);
  await again.waitForSelector("html[data-ready]");
  check("a link shows the same", (await step(again)) === zoomed);
  await again.close();
  await page.getByRole("button", { name: "Reset" }).click();

  // A row leads to its place.
  await page.getByRole("button", { name: names[0], exact: true }).first().click();
  check("a row zooms", (await step(page)) === names[0], await step(page));
  await page.getByRole("button", { name: "Whole profile" }).click();

  // Metric, grouping, search, focus, ignore.
  const peak = await total(page);
  await label(page, "Metric").selectOption("alloc_space");
  check("another metric has another total", (await total(page)) !== peak);
  await label(page, "Metric").selectOption("peak_objects");
  check("blocks have no unit of bytes", !/B$/.test(await total(page)), await total(page));
  await label(page, "Metric").selectOption("peak_space");
  for (const by of ["line", "file", "package", "module", "function"]) {
    await label(page, "Rows by").selectOption(by);
    check(`rows by ${by}`, (await rowNames(page)).length > 1 && (await total(page)) === peak);
  }
  for (const colour of ["package", "file", "function", "module"]) await label(page, "Colour by").selectOption(colour);
  await label(page, "Search").fill("JSON");
  await page.waitForSelector("tr.marked");
  const found = await page.$eval("header [role=status]", (one) => one.textContent);
  check("search says what it finds", /finds [\d.]+ MiB, [\d.]+%/.test(found), found);
  await label(page, "Search").fill("(");
  await page.waitForSelector(".wrong");
  check("what is no expression is said", (await page.$eval(".wrong", (one) => one.textContent)).length > 10);
  check("axe: an error", (await violations(page)).length === 0, (await violations(page)).join("; "));
  await label(page, "Search").fill("");
  await label(page, "Focus").fill("json");
  await page.waitForFunction(() => document.querySelector(".total").textContent.includes("% of"));
  const focused = await total(page);
  await label(page, "Ignore").fill("dumps");
  await page.waitForFunction((old) => document.querySelector(".total strong").textContent !== old, focused);
  check("focus and ignore leave less", (await total(page)) !== peak);
  await page.getByRole("button", { name: "Reset" }).click();
  check("reset shows all", (await total(page)) === peak);

  // Frames that are left out.
  const few = await page.$eval(".icicle canvas", (one) => one.height);
  await page.getByText("Frames and names").click();
  await page.getByLabel("interpreter", { exact: true }).check();
  await settled(page);
  check("the interpreter's frames can be shown", (await page.$eval(".icicle canvas", (one) => one.height)) > few);
  check("axe: frames", (await violations(page)).length === 0, (await violations(page)).join("; "));
  for (const name of ["import system", "allocator and standard library", "code before main", "names in full"]) {
    await page.getByLabel(name, { exact: true }).check();
  }
  check("sums stay", (await total(page)) === peak);
  await page.getByRole("button", { name: "Reset" }).click();

  // Sizes and lifetimes of what is looked at, and what was freed soon.
  await page.getByRole("button", { name: names[0], exact: true }).first().click();
  await page.getByText("Sizes and lifetimes").click();
  await page.waitForSelector(".histograms table");
  const tables = await page.$$eval(".histograms caption", (all) => all.map((one) => one.textContent));
  check("sizes and lifetimes", tables.length === 2 && /^Sizes/.test(tables[0]) && /^How long/.test(tables[1]), tables.join(", "));
  const bins = await page.$$eval(".histograms tbody th", (all) => all.map((one) => one.textContent));
  check("classes say from when to when", bins.every((bin) => /^(under .+|.+ to .+)$/.test(bin)), bins.slice(0, 3).join(", "));
  check("axe: sizes and lifetimes", (await violations(page)).length === 0, (await violations(page)).join("; "));
  await picture(page, "lifetimes");
  await label(page, "Metric").selectOption("temporary_space");
  check("what was freed soon after", (await page.$eval(".total", (one) => one.textContent)).startsWith("Freed soon after"));
  await page.getByRole("button", { name: "Reset" }).click();

  // Callers and callees.
  await page.getByRole("button", { name: `Callers and callees of ${names[0]}` }).first().click();
  await page.waitForSelector(".sandwich");
  check("callers are listed", (await page.$$eval(".edges tbody tr", (all) => all.length)) > 1);
  const edgesHave = await page.waitForFunction(() =>
    [...document.querySelectorAll(".edges tbody td.small")].every((one) => /^<?\d+%$/.test(one.textContent)),
  );
  check("callers and callees have their intervals", (await edgesHave.jsonValue()) === true);
  check("and the function", /95 %: .* to /.test(await page.$eval(".sandwich > p", (one) => one.textContent)));
  check("axe: callers and callees", (await violations(page)).length === 0, (await violations(page)).join("; "));
  await picture(page, "callers");
  await page.getByRole("button", { name: "Back to the graph" }).click();

  // Sorting.
  await page.locator("thead button", { hasText: "name" }).click();
  await settled(page); // rows below the screen come in the picture after
  const sorted = await rowNames(page);
  const before = sorted.findIndex((name, i) => i > 0 && name < sorted[i - 1]);
  check("by name, all rows", sorted.length > 40 && before < 0, before < 0 ? sorted.length : sorted.slice(before - 1, before + 1).join(" before "));
  check("who sorts is told", (await page.$$eval("th[aria-sort=ascending]", (all) => all.length)) === 1);
  check("no errors", errors.length === 0, errors.join("; "));
  await close();
}

async function importedPackages({ open, violations, picture, check }) {
  const { page, errors, close } = await open("imports.html");
  const isImport = (name) => name.startsWith("importing ");
  const names = await rowNames(page);
  check("an import is one row", names.filter(isImport).length > 2, names.join(" ").slice(0, 200));
  const whole = await total(page);
  await page.getByRole("button", { name: names.find(isImport), exact: true }).first().click();
  await picture(page, "imports");
  check("axe: an import", (await violations(page)).length === 0, (await violations(page)).join("; "));
  await page.getByRole("button", { name: "Show what is imported" }).click();
  await settled(page);
  const opened = await rowNames(page);
  const modules = (all) => all.filter((name) => name === "<module>").length;
  check("it opens", !opened.some(isImport) && modules(opened) > modules(names), opened.join(" ").slice(0, 200));
  check("and nothing is lost", (await total(page)) === whole, await total(page));
  check("the fragment says so", new URL(page.url()).hash.includes("show=p"), page.url());
  await page.evaluate(() => window.history.back());
  await settled(page);
  check("back closes it", (await rowNames(page)).some(isImport));
  check("no errors", errors.length === 0, errors.join("; "));
  await close();
}

async function hostileNames({ open, violations, picture, check }) {
  const { page, errors, close } = await open("hostile.html", "#show=iml");
  const names = await rowNames(page);
  check("markup is text", names.some((name) => name.includes("<script>alert(1)</script>")), names.join(" ").slice(0, 200));
  const kind = await page.$eval("header summary", (one) => one.textContent);
  check("a file of others is not said to be exact", kind === "Values as the file has them, 10 stacks", kind);
  check("quotes are text", names.some((name) => name.includes("\"'`<img src=x onerror=alert(2)>")));
  check("NUL can be seen", names.some((name) => name.includes("␀")));
  check("what is not UTF-8 can be seen", names.some((name) => name.includes("\uFFFD")));
  check("nothing turns the direction", (await page.content()).match(/[\u202a-\u202e\u2066-\u2069]/) === null);
  check("10,000 letters do not widen the page", await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  for (const name of names.slice(0, 8)) {
    await page.getByRole("button", { name, exact: true }).first().click();
    await page.getByRole("button", { name: "Whole profile" }).click();
  }
  check("nothing of it runs", errors.length === 0 && !(await page.evaluate(() => "evil" in window)), errors.join("; "));
  check("axe: hostile names", (await violations(page)).length === 0, (await violations(page)).join("; "));
  await picture(page, "hostile");
  await close();
  for (const fragment of ["#z=99999999&fn=99999999", "#m=nonsense&by=x&q=%28&f=%5B", "#%00%ff=1"]) {
    const odd = await open("python.html", fragment);
    check(`fragment ${fragment}`, odd.errors.length === 0 && (await rowNames(odd.page)).length >= 0, odd.errors.join("; "));
    await odd.close();
  }
}

async function difference({ open, violations, picture, check }) {
  const { page, errors, close } = await open("diff.html");
  check("the change has a sign", /^[+-]/.test(await total(page)), await total(page));
  const grown = await page.$$eval(".table tbody td.grown", (all) => all.length);
  check("what grew", grown > 0 && (await page.$$eval(".table tbody td.shrunk", (all) => all.length)) === 0, `${grown}`);
  await picture(page, "difference");
  await page.getByLabel("significant only").check();
  await settled(page);
  const significant = (await rowNames(page)).length;
  check("significant only is less", significant > 0 && significant < grown + 50, `${significant}`);
  await label(page, "Change").selectOption("shrunk");
  await settled(page);
  check("what shrank", (await page.$$eval(".table tbody td.grown", (all) => all.length)) === 0);
  check("axe: difference", (await violations(page)).length === 0, (await violations(page)).join("; "));
  check("no errors in the difference", errors.length === 0, errors.join("; "));
  await close();
}

async function appearances({ open, violations, picture, print, check }) {
  const dark = await open("python.html", "", { colorScheme: "dark" });
  check("axe: dark", (await violations(dark.page)).length === 0, (await violations(dark.page)).join("; "));
  await picture(dark.page, "dark");
  await dark.close();
  const narrow = await open("python.html", "", { viewport: { width: 360, height: 740 } });
  check("360 pixels are enough", await narrow.page.evaluate(() => document.documentElement.scrollWidth <= 360));
  check("axe: narrow", (await violations(narrow.page)).length === 0, (await violations(narrow.page)).join("; "));
  await picture(narrow.page, "narrow");
  await narrow.close();
  const change = await open("diff.html", "", { viewport: { width: 360, height: 740 }, colorScheme: "dark" });
  check("360 pixels are enough for a difference", await change.page.evaluate(() => document.documentElement.scrollWidth <= 360));
  check("axe: difference, narrow and dark", (await violations(change.page)).length === 0, (await violations(change.page)).join("; "));
  await change.close();
  const paper = await open("python.html");
  check("it can be printed", (await paper.page.pdf()).length > 10_000);
  await print(paper.page);
  check("print leaves out what cannot be used", !(await paper.page.locator(".toolbar").isVisible()));
  check("print has the table", await paper.page.locator(".table").isVisible());
  check("print cuts nothing of it", await paper.page.$eval(".table", (one) => window.getComputedStyle(one).overflowX === "visible"));
  await paper.close();
  const plain = await open("python.html", "", { javaScriptEnabled: false });
  const text = await plain.page.locator("body").innerText();
  check("without JavaScript it says so", text.includes("needs JavaScript"));
  check("and has a table", (await plain.page.locator("tbody tr").count()) > 10);
  await plain.close();
}

export async function interactions(tools) {
  await pythonPage(tools);
  await keysOnly(tools);
  await importedPackages(tools);
  await hostileNames(tools);
  await difference(tools);
  await appearances(tools);
}
