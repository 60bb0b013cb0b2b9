// SPDX-License-Identifier: Apache-2.0
// The page of a process that runs: what it is told, pause, growth, saving, another viewer, the end.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { begin } from "./programs.mjs";
import { isPart, points, rows, slide, waitFor } from "./timeline.mjs";

// Grows by 8 MiB for each line that it reads, and drops what it has at "drop".
const PROGRAM = `
import sys
kept = []
def grow():
    kept.append(bytearray(8 << 20))
def work():
    return [str(i) * 10 for i in range(20000)]
work()
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "drop":
        kept.clear()
    elif line.strip() == "other":
        exec("def another():\\n    kept.append(bytearray(8 << 20))\\nanother()")
    else:
        grow()
    print("done", flush=True)
`;

const MIB = /([+-]?[\d.]+) MiB/;
const figures = (page) => page.$eval(".live", (one) => one.textContent);
const growth = async (page) => Number(MIB.exec(await page.$eval(".live span strong", (one) => one.textContent))?.[1] ?? 0);
const link = (page) => page.$eval(".live > strong", (one) => one.textContent);
const grown = (page, most) =>
  waitFor(page, (least) => Number(/\+([\d.]+) MiB/.exec(document.querySelector(".live span strong").textContent)?.[1] ?? 0) > least, most);
const isLink = (page, text) => waitFor(page, (wanted) => document.querySelector(".live > strong").textContent === wanted, text);

export async function live(tools, memprof, folder) {
  const { open, violations, picture, check } = tools;
  const library = join(memprof, "../../lib/libmemprof.so");
  const environment = { ...process.env, LD_PRELOAD: library, MEMPROF_RATE: "64k", MEMPROF_PROFILE: join(folder, "live.%p.pb.gz") };
  const program = begin("/usr/bin/python3", ["-c", PROGRAM], { env: environment });
  await program.next();
  const viewer = begin(memprof, ["view", String(program.child.pid), "--no-open", "--no-debuginfod"]);
  try {
    const url = await viewer.next();
    const { page, errors, close } = await open(url);
    await isLink(page, "live");
    check("live: it opens on what is live", (await page.$eval(".total", (one) => one.textContent)).startsWith("Live: bytes"));
    check("axe: live", (await violations(page)).length === 0, (await violations(page)).join("; "));
    for (let i = 0; i < 3; ++i) await program.ask("grow");
    await grown(page, 20);
    check("live: it grows by itself", (await growth(page)) < 28, await figures(page));
    const row = page.locator(".table tbody tr", { hasText: "grow" }).first();
    check("live: the row has its growth", /\+2[3-5]\.\d MiB/.test(await row.textContent()), await row.textContent());
    await picture(page, "live");

    // What is looked at stays so when new functions come.
    await row.locator("th button").click();
    const step = () => page.$eval(".breadcrumb li:last-child", (one) => one.textContent.trim());
    check("live: a row zooms", (await step()) === "grow", await step());
    await program.ask("other");
    await grown(page, 30);
    check("live: the zoom stays", (await step()) === "grow", await step());
    await page.evaluate(() => window.history.back());
    await waitFor(page, () => !location.hash.includes("z="));
    check("live: back leads back", (await step()) === "Whole profile", await step());

    // What changed since, as a difference.
    const shows = page.locator('.toolbar label:has(> span:text-is("Shows")) >> css=select');
    await shows.selectOption("since");
    await waitFor(page, () => document.querySelector(".table tbody td.grown") !== null);
    const changed = await page.$$eval(".table tbody th button", (all) => all.slice(0, 3).map((one) => one.textContent));
    check("live: what changed", changed[0] === "grow", changed.join(", "));
    check("axe: what changed", (await violations(page)).length === 0, (await violations(page)).join("; "));
    await picture(page, "live-since");

    // Another viewer sees growth from the same look on.
    const second = await open(url);
    await isLink(second.page, "live");
    await grown(second.page, 30);
    check("live: a second viewer", second.errors.length === 0, second.errors.join("; "));
    await shows.selectOption("now");

    // Pause: nothing moves; then all that happened meanwhile is there.
    await page.getByRole("button", { name: "Pause" }).click();
    check("live: paused", (await link(page)) === "paused");
    const before = await growth(page);
    await program.ask("grow");
    await grown(second.page, before + 6);
    check("live: a pause is one", (await growth(page)) === before);
    await page.getByRole("button", { name: "Resume" }).click();
    await grown(page, before + 6);
    await page.getByRole("button", { name: "Count growth from now" }).click();
    check("live: growth from now", Math.abs(await growth(page)) < 1, await figures(page));
    await label(page, "Metric").selectOption("rate_space");
    check("live: rates", /\/s$/.test(await page.$eval(".total strong", (one) => one.textContent)));
    check("axe: rates", (await violations(page)).length === 0, (await violations(page)).join("; "));
    await label(page, "Metric").selectOption("inuse_space");

    // A part of the time: what came before is not in it.
    await grown(second.page, before + 6);
    const from = await points(second.page);
    await program.ask("other");
    await grown(second.page, before + 14);
    const to = await points(second.page);
    check("live: its timeline grows", to > from, `${from} to ${to}`);
    await slide(second.page, 0, from);
    await slide(second.page, 1, to);
    await second.page.getByRole("button", { name: "Show what changed" }).click();
    await isPart(second.page, true);
    const inPart = await rows(second.page);
    check("live: what changed in a part of its time", inPart.includes("another") && !inPart.includes("grow"), inPart.join(", "));
    check("axe: a part of the time", (await violations(second.page)).length === 0, (await violations(second.page)).join("; "));
    await picture(second.page, "live-part");
    await second.page.getByRole("button", { name: "Back to the last look" }).click();
    await waitFor(second.page, () => document.querySelector("h1").textContent.startsWith("process "));
    check("live: back to the last look", (await rows(second.page)).includes("grow"), (await rows(second.page)).join(", "));

    // The last look as a file.
    const [saved] = await Promise.all([page.waitForEvent("download"), page.getByText("Save this look").click()]);
    const file = readFileSync(await saved.path());
    check("live: it can be saved", /^memprof\.\d+\.\d+\.pb\.gz$/.test(saved.suggestedFilename()) && file[0] === 0x1f, saved.suggestedFilename());

    const narrow = await open(url, "", { viewport: { width: 360, height: 740 }, colorScheme: "dark" });
    await isLink(narrow.page, "live");
    check("live: 360 pixels", await narrow.page.evaluate(() => document.documentElement.scrollWidth <= 360));
    check("axe: live, narrow and dark", (await violations(narrow.page)).length === 0, (await violations(narrow.page)).join("; "));
    await narrow.close();

    // The end: the last look stays, also of the server.
    program.child.stdin.end();
    await program.ended;
    await isLink(page, "ended");
    check("live: the end is said", (await figures(page)).includes("has ended: this is the last look"), await figures(page));
    check("live: the last look stays", (await page.$$eval(".table tbody tr", (all) => all.length)) > 0);
    check("axe: ended", (await violations(page)).length === 0, (await violations(page)).join("; "));
    const later = await open(url);
    await isLink(later.page, "ended");
    check("live: who comes later sees it, too", later.errors.length === 0, later.errors.join("; "));
    await later.close();
    check("live: no errors", errors.length === 0, errors.join("; "));
    await second.close();
    await close();
  } finally {
    program.child.kill("SIGKILL");
    viewer.child.kill("SIGINT");
    await viewer.ended;
  }
  await serverEnds(tools, memprof, environment);
}

async function serverEnds({ open, violations, check }, memprof, environment) {
  const program = begin("/usr/bin/python3", ["-c", PROGRAM], { env: environment });
  await program.next();
  const viewer = begin(memprof, ["view", String(program.child.pid), "--no-open", "--no-debuginfod"]);
  try {
    const { page, close } = await open(await viewer.next());
    await isLink(page, "live");
    viewer.child.kill("SIGINT");
    await viewer.ended;
    await isLink(page, "no answer");
    check("live: a server that ended is said", (await figures(page)).includes("does not answer"), await figures(page));
    check("live: and what it had stays", (await page.$$eval(".table tbody tr", (all) => all.length)) > 0);
    check("axe: no answer", (await violations(page)).length === 0, (await violations(page)).join("; "));
    await close();
  } finally {
    program.child.kill("SIGKILL");
    viewer.child.kill("SIGINT");
    await viewer.ended;
  }
}

const label = (page, text) => page.locator(`.toolbar label:has(> span:text-is("${text}")) >> css=select`).first();
