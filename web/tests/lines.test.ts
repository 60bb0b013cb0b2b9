// SPDX-License-Identifier: Apache-2.0
// Lines of functions add up to what the report says of them; threads by what they began with; which lines are shown.
import { describe, expect, it } from "vitest";
import { valuesOf } from "../src/data/values";
import { stacksBelow } from "../src/model/histograms";
import { linesOf } from "../src/model/lines";
import { threadsOfNodes } from "../src/model/threads";
import { rowsOf, sumUp } from "../src/model/sums";
import { makeView } from "../src/model/view";
import { shownLines } from "../src/ui/lines";
import { addressOf } from "../src/ui/source";
import { pageOf, profiles, reportOf } from "./page";

const NOTHING = { interpreter: false, native: false, imports: false, packages: false, library: false, start: false };
const HIDDEN = { interpreter: true, native: true, imports: true, packages: true, library: true, start: true };

describe.each(profiles())("%s", (profile) => {
  it("has the lines of report --by line", async () => {
    const block = await pageOf(profile);
    const view = makeView(block, { by: "function", hidden: NOTHING, fullNames: true });
    const { value } = valuesOf(block, "alloc_space", () => false);
    const all = stacksBelow(view, 0, null);
    const known = new Map(
      reportOf(profile, "--by", "line", "--all-frames", "--native-interpreter", "--full-names", "--metric", "alloc").rows.map((row) => [
        [row.name, row.file, row.module, row.line].join("\0"),
        row,
      ]),
    );
    let found = 0;
    view.groups.groups.forEach(({ name, file, module, isMadeUp }, group) => {
      if (isMadeUp) return;
      for (const line of linesOf(block, view, value, all, group)) {
        const row = known.get([name, file, module, line.line].join("\0"));
        ++found;
        expect(Math.round(line.total), `${name}:${line.line}`).toBe(row?.cumulative.alloc_space.value);
        expect(Math.round(line.self), `${name}:${line.line}`).toBe(row?.self.alloc_space.value);
      }
    });
    const withLines = [...known.values()].filter((row) => row.line > 0 && row.cumulative.alloc_space.value !== 0);
    expect(found).toBe(withLines.length);
  });

  it("has threads that add up to the whole", async () => {
    const block = await pageOf(profile);
    const view = makeView(block, { by: "thread", hidden: HIDDEN, fullNames: true });
    const values = valuesOf(block, "alloc_space", () => false);
    const sums = sumUp(block, view, values, null, "all", null);
    expect(Math.round(sums.total[0])).toBe(reportOf(profile).totals.alloc_space.value);
    const names = rowsOf(view, sums, 0)
      .filter((row) => row.self !== 0)
      .map((row) => view.groups.groups[row.group].name);
    const isOfThreads = profile.endsWith("threads.pb.gz");
    expect(names).toContain("[main thread]");
    expect(names.includes("worker") && names.includes("other")).toBe(isOfThreads);
    // In the view by function what threads share is nobody's.
    const functions = makeView(block, { by: "function", hidden: HIDDEN, fullNames: true });
    const threads = threadsOfNodes(block, functions, (frame) => block.texts[block.frames.name[frame]]);
    const of = (name: string) =>
      new Set(threads.filter((_thread, i) => i > 0 && functions.groups.groups[functions.group[i]].name === name));
    if (isOfThreads) expect([of("worker"), of("Thread.run")]).toEqual([new Set(["worker"]), new Set([null])]);
  });
});

describe("lines", () => {
  const held = [5, 6, 20].map((line) => ({ line, self: 0, total: line }));
  const text = (...lines: number[]) => ({ is_newer: false, lines: Object.fromEntries(lines.map((line) => [String(line), "x"])) });

  it("shows those next to them, and where some are left out", () => {
    const shown = shownLines(held, text(4, 5, 6, 7, 8, 9, 18, 19, 20));
    expect(shown.map((one) => one.line)).toEqual([4, 5, 6, 7, 8, 18, 19, 20]);
    expect(shown.filter((one) => one.held !== null).map((one) => one.line)).toEqual([5, 6, 20]);
    expect(shown.filter((one) => one.isAfterGap).map((one) => one.line)).toEqual([18]);
  });

  it("shows them alone without source", () => {
    expect(shownLines(held, null).map((one) => one.line)).toEqual([5, 6, 20]);
  });

  it("asks for a path by its bytes", () => {
    expect(addressOf({ carried: {}, address: "source-" }, "/ä.c")).toBe("source-2fc3a42e63");
  });
});
