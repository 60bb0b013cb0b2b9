// SPDX-License-Identifier: Apache-2.0
// Of some stacks: how large their blocks are, and how long those lived that were freed.
import { type Block, FIRST_KIND, KIND_TOTALS, type Metric, TOTALS_COLUMNS } from "../data/block";
import { familyOf, isBytes, probabilityOf } from "../data/values";
import type { View } from "./view";

/** Stacks at a node and below, those that are selected. */
export function stacksBelow(view: View, node: number, isSelected: Uint8Array | null): number[] {
  const below = view.stacks.subarray(view.stackBegin[node], view.stackBegin[view.end[node]]);
  return Array.from(below).filter((stack) => isSelected === null || isSelected[stack] === 1);
}

export interface SizeClass {
  /** Blocks of so many bytes and more, and of less than twice that; 0 of none but 0. */
  from: number;
  value: number;
}

/** The power of two that is not above the size. */
function sizeClass(size: number): number {
  return size < 1 ? 0 : 2 ** Math.floor(Math.log2(size));
}

/** By size, ascending, those that there are. Of samples of several sizes at one stack only their mean is known. */
export function sizesOf(block: Block, metric: Metric, stacks: number[]): SizeClass[] {
  const family = block.families[familyOf(metric)];
  const bytes = isBytes(metric);
  const sums = new Map<number, number>();
  const add = (size: number, value: number) => sums.set(sizeClass(size), (sums.get(sizeClass(size)) ?? 0) + value);
  for (const stack of stacks) {
    for (let i = family.begin[stack]; i < family.begin[stack + 1]; ++i) {
      const kind = family.kind[i] - FIRST_KIND;
      if (kind >= 0) {
        const size = block.kinds.size[kind];
        add(size, (family.samples[i] * (bytes ? size : 1)) / probabilityOf(block, kind));
      } else if (family.kind[i] === KIND_TOTALS) {
        const row = TOTALS_COLUMNS * family.row[i];
        const [weightBytes, weightCount] = [block.totals.numbers[row], block.totals.numbers[row + 1]];
        add(weightBytes / weightCount, bytes ? weightBytes : weightCount);
      }
    }
  }
  return [...sums].map(([from, value]) => ({ from, value })).sort((a, b) => a.from - b.from);
}

/** The classes of src/format/lifetime_class.h: nanoseconds from which on; class 0 is from 0. */
export function lifetimeFrom(lifetimeClass: number): number {
  if (lifetimeClass === 0) return 0;
  const decade = 1000 * 10 ** Math.floor((lifetimeClass - 1) / 2);
  return lifetimeClass % 2 === 1 ? decade : 3 * decade;
}

export interface LifetimeClass {
  /** Nanoseconds. */
  from: number;
  to: number;
  /** What was freed after such a time. */
  value: number;
  /** Part of all that was allocated that lived longer. */
  survives: number;
}

/** By lifetime, ascending, those that there are; nothing: nothing was freed, or it is not known. */
export function lifetimesOf(block: Block, metric: Metric, stacks: number[]): LifetimeClass[] {
  const bytes = isBytes(metric);
  const { begin, lifetimeClass, ...columns } = block.lifetimes;
  const freed = new Map<number, number>();
  for (const stack of stacks) {
    for (let i = begin[stack]; i < begin[stack + 1]; ++i) {
      const value = bytes ? columns.bytes[i] : columns.blocks[i];
      freed.set(lifetimeClass[i], (freed.get(lifetimeClass[i]) ?? 0) + value);
    }
  }
  const allocated = sizesOf(block, bytes ? "alloc_space" : "alloc_objects", stacks).reduce((sum, one) => sum + one.value, 0);
  let gone = 0;
  return [...freed]
    .sort(([a], [b]) => a - b)
    .map(([index, value]) => {
      gone += value;
      const survives = allocated > 0 ? Math.max(1 - gone / allocated, 0) : 0;
      return { from: lifetimeFrom(index), to: lifetimeFrom(index + 1), value, survives };
    });
}
