// SPDX-License-Identifier: Apache-2.0
// Sizes and lifetimes add up to what the report says of a stack's values; times and moments as people read them.
import { describe, expect, it } from "vitest";
import { valuesOf } from "../src/data/values";
import { lifetimeFrom, lifetimesOf, sizesOf, stacksBelow } from "../src/model/histograms";
import { makeView } from "../src/model/view";
import { lifetimeText } from "../src/ui/histograms";
import { clockText, nearest, ratesOf } from "../src/ui/timeline";
import { pageOf, profiles, reportOf } from "./page";

const HIDDEN = { interpreter: true, native: true, imports: true, packages: true, library: true, start: true };

const sum = (values: number[]): number => values.reduce((all, value) => all + value, 0);

describe.each(profiles())("%s", (profile) => {
  it("has sizes and lifetimes that add up to the values", async () => {
    const block = await pageOf(profile);
    const view = makeView(block, { by: "function", hidden: HIDDEN, fullNames: true });
    const all = stacksBelow(view, 0, null);
    expect(all.length).toBe(block.stacks.node.length);
    const { totals } = reportOf(profile);
    for (const metric of ["inuse_space", "alloc_objects", "alloc_space", "temporary_space"] as const) {
      const sizes = sizesOf(block, metric, all);
      expect(Math.round(sum(sizes.map((one) => one.value))), metric).toBe(totals[metric].value);
      expect(sizes.every((one, i) => i === 0 || one.from > sizes[i - 1].from)).toBe(true);
    }
    // Lifetimes are rounded by stack and class.
    const lifetimes = lifetimesOf(block, "alloc_space", all);
    const within = sum(lifetimes.filter((one) => one.to <= block.facts.temporary_ns).map((one) => one.value));
    expect(Math.abs(within - totals.temporary_space.value)).toBeLessThanOrEqual(block.lifetimes.bytes.length);
    expect(lifetimes.every((one, i) => i === 0 || one.survives <= lifetimes[i - 1].survives)).toBe(true);
    // What is below a node is what its sum has.
    const value = valuesOf(block, "alloc_space", () => false).value;
    for (let node = 1; node < Math.min(view.group.length, 20); ++node) {
      const own = stacksBelow(view, node, null);
      expect(Math.round(sum(sizesOf(block, "alloc_space", own).map((one) => one.value)))).toBe(Math.round(sum(own.map((stack) => value[stack]))));
    }
    expect(stacksBelow(view, 0, new Uint8Array(all.length))).toEqual([]);
  });
});

describe("times", () => {
  it("has the classes of src/format/lifetime_class.h", () => {
    expect([0, 1, 2, 3, 8, 9, 27].map(lifetimeFrom)).toEqual([0, 1e3, 3e3, 1e4, 3e6, 1e7, 1e16]);
  });

  it("reads as people say it", () => {
    expect([500, 1e3, 1e7, 3e9, 3e11, 1e16].map(lifetimeText)).toEqual(["500 ns", "1 µs", "10 ms", "3 s", "5 min", "116 d"]);
    expect([0, 3.46, 125, 3725].map(clockText)).toEqual(["0.0 s", "3.5 s", "2:05 min", "1:02:05 h"]);
  });

  it("finds the look next to a moment", () => {
    expect([-1, 0.4, 0.6, 3, 99].map((wanted) => nearest([0, 1, 2, 10], wanted))).toEqual([0, 0, 1, 2, 3]);
  });

  it("has rates between looks, and none below zero", () => {
    expect(ratesOf({ seconds: [0, 2, 4, 4], allocated: [10, 30, 20, 50] })).toEqual([10, 10, 0, 0]);
    expect(ratesOf({ seconds: [0] })).toEqual([0]);
  });
});
