// SPDX-License-Identifier: Apache-2.0
// Lines of a function with their source, which the page carries or asks its server for; and threads.
import { join } from "node:path";
import { begin } from "./programs.mjs";
import { waitFor } from "./timeline.mjs";

const choice = (page, name) => page.locator(`.toolbar label:has(> span:text-is("${name}")) >> css=select`);
const names = (page) => page.$$eval(".table tbody th button", (all) => all.slice(0, 8).map((one) => one.textContent));

/** The lines of load(): number, whether it holds something, and text. */
async function linesOfLoad(page) {
  await page.locator(".table tbody th button", { hasText: /^load$/ }).first().click();
  await page.getByText("Lines and source").click();
  await waitFor(page, () => [...document.querySelectorAll(".lines .source")].some((one) => one.textContent !== ""));
  return page.$$eval(".lines tbody tr", (rows) =>
    rows.map((row) => ({
      line: Number(row.cells[0].textContent),
      value: row.cells[2].textContent,
      text: row.cells[3].textContent,
    })),
  );
}

const isSource = (lines) =>
  lines.some((one) => one.line === 5 && one.text.trim() === 'text = "x" * (8 << 20)' && /^8\.0 MiB$/.test(one.value)) &&
  lines.some((one) => one.line === 3 && one.text === "def load(rows):" && one.value === "");

export async function source({ open, violations, picture, check }, memprof, folder) {
  const { page, errors, close } = await open("source.html");
  const carried = await linesOfLoad(page);
  check("source: lines that the page carries", isSource(carried), JSON.stringify(carried));
  check("axe: source", (await violations(page)).length === 0, (await violations(page)).join("; "));
  await picture(page, "source");
  await page.getByRole("button", { name: "Reset" }).click();
  await choice(page, "Colour by").selectOption("thread");
  check("threads have their colours", (await names(page)).includes("load"));
  await choice(page, "Rows by").selectOption("thread");
  await waitFor(page, () => document.querySelector("caption").textContent.includes("by thread"));
  const threads = await names(page);
  check("rows by thread", ["[main thread]", "worker", "other"].every((name) => threads.includes(name)), threads.join(", "));
  check("axe: threads", (await violations(page)).length === 0, (await violations(page)).join("; "));
  check("source: no errors", errors.length === 0, errors.join("; "));
  await close();

  const narrow = await open("source.html", "", { viewport: { width: 360, height: 740 }, colorScheme: "dark" });
  await linesOfLoad(narrow.page);
  check("source: 360 pixels", await narrow.page.evaluate(() => document.documentElement.scrollWidth <= 360));
  check("axe: source, narrow and dark", (await violations(narrow.page)).length === 0, (await violations(narrow.page)).join("; "));
  await narrow.close();

  const profile = join(folder, "profiles", "threads.pb.gz");
  const viewer = begin(memprof, ["view", profile, "--source-root", folder, "--no-open", "--no-debuginfod"]);
  try {
    const served = await open(await viewer.next());
    const asked = await linesOfLoad(served.page);
    check("source: lines that the server has", isSource(asked), JSON.stringify(asked));
    check("source: no errors of the served page", served.errors.length === 0, served.errors.join("; "));
    await served.close();
  } finally {
    viewer.child.kill("SIGINT");
    await viewer.ended;
  }
}
