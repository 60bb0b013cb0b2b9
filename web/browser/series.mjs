// SPDX-License-Identifier: Apache-2.0
// The page of a series while it is recorded: looks that are added, a part of its time, the end of the recording.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { begin } from "./programs.mjs";
import { isPart, points, rows, slide, waitFor } from "./timeline.mjs";

// Holds 8 MiB more for each line that it reads, in the function of that name.
const PROGRAM = `
import sys
kept = []
def early():
    kept.append(bytearray(8 << 20))
def late():
    kept.append(bytearray(8 << 20))
early()
print("ready", flush=True)
for line in sys.stdin:
    {"early": early, "late": late}[line.strip()]()
    print("done", flush=True)
`;

export async function series({ open, violations, picture, check }, memprof, folder) {
  const file = join(folder, "recorded.series");
  rmSync(file, { force: true });
  const environment = { ...process.env, LD_PRELOAD: join(memprof, "../../lib/libmemprof.so"), MEMPROF_RATE: "64k" };
  const program = begin("/usr/bin/python3", ["-c", PROGRAM], { env: { ...environment, MEMPROF_PROFILE: join(folder, "series.%p.pb.gz") } });
  await program.next();
  const recorder = begin(memprof, ["live", String(program.child.pid), "--record", file, "--every", "300ms", "--no-debuginfod"]);
  for (let found = false; !found; ) {
    await new Promise((done) => setTimeout(done, 200));
    try {
      found = readFileSync(file).length > 1000;
    } catch {
      found = false;
    }
  }
  const viewer = begin(memprof, ["view", file, "--no-open", "--no-debuginfod"]);
  try {
    const url = await viewer.next();
    const { page, errors, close } = await open(url);
    await waitFor(page, () => document.querySelector(".live > strong").textContent === "live");
    await waitFor(page, () => Number(document.querySelector(".timeline input")?.max ?? 0) >= 1);
    const before = await points(page);
    await program.ask("early");
    await waitFor(page, (most) => Number(document.querySelector(".timeline input").max) > most + 2, before);
    // A busy machine shows looks later: some of those may be of before.
    await waitFor(page, () => Number(/\+([\d.]+) MiB/.exec(document.querySelector(".live span strong").textContent)?.[1] ?? 0) > 6);
    const middle = await points(page);
    check("series: looks that are added are shown", middle > before + 2, `${before} to ${middle}`);
    await program.ask("late");
    await waitFor(page, () => [...document.querySelectorAll(".table tbody th button")].some((one) => one.textContent === "late"));
    check("axe: series", (await violations(page)).length === 0, (await violations(page)).join("; "));
    await picture(page, "series");

    // A part of the time, by the keys: in its first half only what came early.
    await slide(page, 0, 0);
    await slide(page, 1, middle);
    await page.locator(".timeline input").nth(1).focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowRight");
    const chosen = await page.$$eval(".timeline input", (all) => all.map((one) => Number(one.value)));
    check("series: sliders obey the keys", chosen[0] === 0 && chosen[1] === middle, chosen.join(" to "));
    await page.getByRole("button", { name: "Show what changed" }).click();
    await isPart(page, true);
    check("series: what changed between two looks", (await rows(page)).includes("early") && !(await rows(page)).includes("late"), (await rows(page)).join(", "));
    check("axe: a part of the series", (await violations(page)).length === 0, (await violations(page)).join("; "));
    await slide(page, 0, 0);
    await slide(page, 1, 0);
    await page.getByRole("button", { name: "Show this look" }).click();
    await isPart(page, false);
    check("series: one look", (await page.$eval(".total", (one) => one.textContent)).startsWith("Live: bytes"));

    // And by the pointer.
    const box = await page.locator(".timeline svg").boundingBox();
    await page.mouse.move(box.x + 2, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 2, box.y + 20);
    await page.mouse.up();
    await isPart(page, true);
    check("series: a part by the pointer", (await rows(page)).includes("late"), (await rows(page)).join(", "));
    await picture(page, "series-part");
    await page.getByRole("button", { name: "Back to the last look" }).click();
    await waitFor(page, () => document.querySelector("h1").textContent.startsWith("recorded.series"));
    check("series: back to the last look", (await rows(page)).includes("late"), (await rows(page)).join(", "));

    const narrow = await open(url, "", { viewport: { width: 360, height: 740 }, colorScheme: "dark" });
    await waitFor(narrow.page, () => document.querySelector(".timeline input") !== null);
    check("series: 360 pixels", await narrow.page.evaluate(() => document.documentElement.scrollWidth <= 360));
    check("axe: series, narrow and dark", (await violations(narrow.page)).length === 0, (await violations(narrow.page)).join("; "));
    await narrow.close();

    recorder.child.kill("SIGINT");
    await recorder.ended;
    await waitFor(page, () => document.querySelector(".live > strong").textContent === "ended");
    check("series: the end of the recording is said", (await page.$eval(".live", (one) => one.textContent)).includes("the recording has ended"));
    check("series: no errors", errors.length === 0, errors.join("; "));
    await close();
  } finally {
    program.child.kill("SIGKILL");
    recorder.child.kill("SIGINT");
    viewer.child.kill("SIGINT");
    await viewer.ended;
  }
}
