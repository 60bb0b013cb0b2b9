// SPDX-License-Identifier: Apache-2.0
// What the page computes is what `memprof report --json` says: values to the byte, intervals nearly.
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { estimate } from "../src/data/accumulate";
import type { Block } from "../src/data/block";
import { valuesOf } from "../src/data/values";
import { sandwichOf } from "../src/model/calls";
import type { GroupBy } from "../src/model/grouping";
import { stacksOf } from "../src/model/parts";
import { selectStacks } from "../src/model/select";
import { rowsOf, sumUp } from "../src/model/sums";
import { type Hidden, makeView, type View } from "../src/model/view";
import { pageOf, profiles, type Report, reportOf } from "./page";

const HIDDEN: Hidden = { interpreter: true, native: true, imports: true, packages: true, library: true, start: true };
const SHOWN: Hidden = { interpreter: false, native: false, imports: false, packages: false, library: false, start: false };
const NOTHING = { focus: "", ignore: "", process: "", heap: "" };

const key = (group: { name: string; file: string; module: string }) => `${group.name}|${group.file}|${group.module}`;

function compareRows(block: Block, view: View, isSelected: Uint8Array | null, report: Report, by: GroupBy): void {
  expect(report.rows.length).toBeGreaterThan(0);
  for (const metric of block.facts.metrics) {
    const values = valuesOf(block, metric, () => false);
    const sums = sumUp(block, view, values, isSelected, "all", null);
    const total = isSelected === null ? report.totals[metric] : report.selected?.[metric];
    // Halves of what is temporary, a sum over parts of stacks, may be rounded the other way.
    const most = metric.startsWith("temporary") ? 1 : 0;
    expect(Math.abs(Math.round(sums.total[0]) - (total?.value ?? NaN)), metric).toBeLessThanOrEqual(most);
    const rows = new Map(
      rowsOf(view, sums, 0).map((row) => {
        const group = view.groups.groups[row.group];
        return [by === "line" ? `${key(group)}|${group.line}` : key(group), row];
      }),
    );
    for (const row of report.rows) {
      const own = rows.get(by === "line" ? `${key(row)}|${row.line}` : key(row));
      expect(Math.abs(Math.round(own?.self ?? 0) - row.self[metric].value), `${metric} of ${key(row)}`).toBeLessThanOrEqual(most);
      expect(Math.abs(Math.round(own?.total ?? 0) - row.cumulative[metric].value), `all ${metric} of ${key(row)}`).toBeLessThanOrEqual(most);
    }
  }
}

/** To 0.5 % of the interval's width: both look for its ends with a tolerance. */
function compareIntervals(block: Block, view: View, report: Report): void {
  // What of live blocks is resident has its interval in reports only.
  for (const metric of block.facts.metrics.filter((one) => !one.startsWith("inuse_resident"))) {
    for (const row of report.rows.slice(0, 25)) {
      const group = view.groups.groups.findIndex((one) => key(one) === key(row));
      const stacks: number[] = [];
      view.ofStack.forEach((node, stack) => {
        if (view.group[node] === group) stacks.push(stack);
      });
      const own = estimate(block, metric, stacks);
      const { low, high, value } = row.self[metric];
      if (low === null || high === null) throw new Error("the report has no intervals");
      const most = Math.max(0.005 * (high - low), 2);
      expect(Math.abs(own.value - value)).toBeLessThanOrEqual(0.5001);
      expect(Math.abs(own.low - low), `${metric} low of ${row.name}`).toBeLessThanOrEqual(most);
      expect(Math.abs(own.high - high), `${metric} high of ${row.name}`).toBeLessThanOrEqual(most);
    }
  }
}

describe.each(profiles())("%s", (profile) => {
  it.each<[string, Hidden, string[]]>([
    ["as reports show it", HIDDEN, []],
    ["all frames", SHOWN, ["--all-frames"]],
    ["the lines of imports", { ...HIDDEN, packages: false }, ["--imports"]],
    ["native code", { ...HIDDEN, native: false }, ["--native"]],
    ["the interpreter", { ...HIDDEN, interpreter: false }, ["--native-interpreter"]],
  ])("has the rows of the report: %s", async (_, hidden, args) => {
    const block = await pageOf(profile);
    const view = makeView(block, { by: "function", hidden, fullNames: true });
    compareRows(block, view, null, reportOf(profile, ...args), "function");
  });

  it.each<GroupBy>(["line", "file", "module"])("has the rows of the report by %s", async (by) => {
    const block = await pageOf(profile);
    const view = makeView(block, { by, hidden: HIDDEN, fullNames: true });
    compareRows(block, view, null, reportOf(profile, "--by", by), by);
  });

  it.each([
    ["main", ""],
    ["", "json|alloc"],
    ["(?i)PARSE", "dumps"],
    ["^no such thing$", ""],
  ])("selects what --focus '%s' --ignore '%s' do", async (focus, ignore) => {
    const block = await pageOf(profile);
    const args = [...(focus === "" ? [] : ["--focus", focus]), ...(ignore === "" ? [] : ["--ignore", ignore])];
    const report = reportOf(profile, ...args);
    const isSelected = selectStacks(block, { ...NOTHING, focus, ignore });
    for (const metric of block.facts.metrics) {
      const values = valuesOf(block, metric, () => false);
      const sum = values.value.reduce((all, value, stack) => all + (isSelected?.[stack] === 1 ? value : 0), 0);
      expect(Math.round(sum), metric).toBe(report.selected?.[metric].value);
    }
    if (report.rows.length > 0) {
      const view = makeView(block, { by: "function", hidden: HIDDEN, fullNames: true });
      compareRows(block, view, isSelected, report, "function");
    }
  });

  it("opens what importing a package took", async () => {
    const block = await pageOf(profile);
    const rowsBy = (packages: boolean) => {
      const view = makeView(block, { by: "function", hidden: { ...HIDDEN, packages }, fullNames: true });
      const sums = sumUp(block, view, valuesOf(block, "alloc_space", () => false), null, "all", null);
      const names = rowsOf(view, sums, 0).map((row) => view.groups.groups[row.group]);
      return { total: Math.round(sums.total[0]), imports: names.filter((group) => group.importedPackage !== undefined) };
    };
    const [folded, opened] = [rowsBy(true), rowsBy(false)];
    expect(opened.total).toBe(folded.total);
    expect(opened.imports).toEqual([]);
    if (basename(profile).startsWith("imports")) expect(folded.imports.length).toBeGreaterThan(2);
  });

  it("has the intervals of the report", async () => {
    const block = await pageOf(profile);
    const view = makeView(block, { by: "function", hidden: HIDDEN, fullNames: true });
    compareIntervals(block, view, reportOf(profile));
  });

  it("has the callers and callees of the report", async () => {
    const block = await pageOf(profile);
    const view = makeView(block, { by: "function", hidden: { ...HIDDEN, native: false, packages: false }, fullNames: true });
    const metric = block.facts.metric;
    const sums = sumUp(block, view, valuesOf(block, metric, () => false), null, "all", null);
    const byTotal = rowsOf(view, sums, 0).sort((a, b) => b.total - a.total);
    // The name must be that of one function only.
    const row = byTotal.find(
      (one) =>
        !view.groups.groups[one.group].isMadeUp &&
        view.groups.groups.filter((group) => group.name === view.groups.groups[one.group].name).length === 1,
    );
    if (row === undefined) throw new Error("no function");
    const { name } = view.groups.groups[row.group];
    const report = reportOf(profile, "--callers", name, "--callees", name);
    const sandwich = sandwichOf(view, sums.self, sums.total, row.group);
    expect(Math.round(sandwich.total)).toBe(report.callers?.cumulative[metric].value);
    expect(Math.round(sandwich.self)).toBe(report.callers?.self[metric].value);
    for (const [edges, rows] of [
      [sandwich.callerRows, report.callers?.rows],
      [sandwich.calleeRows, report.callees?.rows],
    ] as const) {
      const own = edges.map((edge) => Math.round(edge.weight)).filter((value) => value !== 0);
      const theirs = (rows ?? []).map((one) => one.values[metric].value).filter((value) => value !== 0);
      expect(own.sort((a, b) => a - b)).toEqual(theirs.sort((a, b) => a - b));
      // The interval of each is of the stacks that it is the sum of.
      for (const edge of edges.slice(0, 10)) {
        const { value, low, high } = estimate(block, metric, stacksOf(view, edge.parts, null));
        expect(Math.abs(value - edge.weight)).toBeLessThanOrEqual(1e-6 * value);
        expect(low <= value && value <= high).toBe(true);
      }
    }
  });

  it("opens on the report's metric", async () => {
    expect((await pageOf(profile)).facts.metric, basename(profile)).toBe(reportOf(profile).metric);
  });
});
