// SPDX-License-Identifier: Apache-2.0
// Intervals of changes hold the truth as often as they say, and are nearly those of `memprof diff`.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Estimate } from "../src/data/accumulate";
import { changeBetween, changeOf } from "../src/data/change";
import { Missed } from "../src/data/missed";
import { makeView } from "../src/model/view";
import { blockOf, profiles } from "./page";

/** Numbers from 0 to 1 (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** What is known of so many blocks of one size. */
function sampled(blocks: number, size: number, rate: number, next: () => number): Estimate {
  const probability = rate <= 1 ? 1 : -Math.expm1(-size / rate);
  let samples = 0;
  for (let i = 0; i < blocks; ++i) samples += next() < probability ? 1 : 0;
  const missed = new Missed();
  missed.add({ step: size, probability, samples });
  const certain = samples * size;
  const ends = missed.interval();
  return { value: certain + missed.mean, low: certain + ends.low, high: certain + ends.high, samples, step: missed.step };
}

describe("the interval of a change", () => {
  // Of 1,000 pairs 95 % are 950, with a standard deviation of 7: six below are 908.  An interval that were a third too
  // narrow would hold 81 %.
  const cases: [string, number, number, number, number][] = [
    ["many", 2000, 2600, 5000, 65536],
    ["few", 100, 160, 5000, 65536],
    ["the same", 400, 400, 5000, 65536],
    ["from nothing", 0, 60, 5000, 65536],
    ["to nothing", 60, 0, 5000, 65536],
    ["large blocks", 30, 20, 200000, 65536],
  ];
  it.each(cases)("holds the truth: %s", (_, before, after, size, rate) => {
    const next = random(20261125);
    let held = 0;
    let width = 0;
    for (let i = 0; i < 1000; ++i) {
      const { low, high, value } = changeBetween(sampled(before, size, rate, next), sampled(after, size, rate, next), [rate, rate]);
      const truth = (after - before) * size;
      held += low <= truth && truth <= high ? 1 : 0;
      width += high - low;
      expect(low).toBeLessThanOrEqual(value);
      expect(high).toBeGreaterThanOrEqual(value);
    }
    expect(held).toBeGreaterThanOrEqual(908);
    // Nor is it much wider than that of a sum whose variance is known.
    const p = -Math.expm1(-size / rate);
    const deviation = size * Math.sqrt(((before + after) * (1 - p)) / p);
    expect(width / 1000).toBeLessThan(2 * 1.96 * deviation * 1.35 + 8 * Math.max(size, rate));
  });

  it("is a point where every block was recorded", () => {
    const next = random(1);
    const change = changeBetween(sampled(0, 100, 1, next), sampled(7, 100, 1, next), [1, 1]);
    expect(change).toEqual({ value: 700, low: 700, high: 700 });
  });
});

describe("a page of a difference", () => {
  it("has nearly the intervals of memprof diff", async () => {
    // As browser/make_pages.py makes them: a Python program that changed.
    const before = profiles().find((name) => name.endsWith("/python.pb.gz")) ?? "";
    const after = join(dirname(before), "..", "after.pb.gz");
    const out = join(mkdtempSync(join(tmpdir(), "page-")), "diff.html");
    execFileSync(process.env.MEMPROF ?? "memprof", ["diff", before, after, "--no-debuginfod", "-o", out]);
    const block = await blockOf(readFileSync(out, "utf8"));
    const view = makeView(block, { by: "function", hidden: { interpreter: true, native: true, imports: true, packages: true, library: true, start: true }, fullNames: false });
    let compared = 0;
    for (const metric of ["inuse_space", "alloc_space"] as const) {
      for (const row of block.facts.changes[metric]?.rows ?? []) {
        const group = view.groups.groups.findIndex((one) => one.name === row.name && one.file === row.file && one.module === row.module);
        if (group < 0 || row.low === null || row.high === null || row.high === row.low) continue;
        const stacks: number[] = [];
        view.ofStack.forEach((node, stack) => {
          if (view.group[node] === group) stacks.push(stack);
        });
        const own = changeOf(block, metric, stacks);
        const width = row.high - row.low;
        expect((own.high - own.low) / width, `${metric} of ${row.name}`).toBeGreaterThan(0.6);
        expect((own.high - own.low) / width, `${metric} of ${row.name}`).toBeLessThan(1.6);
        ++compared;
      }
    }
    expect(compared).toBeGreaterThan(5);
  });
});
