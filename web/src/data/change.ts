// SPDX-License-Identifier: Apache-2.0
// How much more something holds after than before, with the 95 % interval of that.
//
// Of any set of stacks, at once: the interval follows from those of both sides, which are sampled independently, by adding the
// squares of their halves ("square and add", MOVER: Zou and Donner, Statistics in Medicine 27, 2008). That of whole functions,
// which inverts a test, is memprof's own (src/profile/compare/change.h); where samples are not few, both are nearly the same.
import { type Estimate, estimate, type Interval } from "./accumulate";
import { type Block, LABEL_IS_AFTER, type Metric } from "./block";

/** So many samples are expected, and in 2.5 % of cases none is there. */
const UNSEEN_SAMPLES = -Math.log(0.025);

export function isAfter(block: Block, stack: number): boolean {
  return (block.labels.flags[block.stacks.label[stack]] & LABEL_IS_AFTER) !== 0;
}

/** Of a block: where so little is in doubt, no whole one is. */
const NO_BLOCK = 0.05;

/**
 * Half of the interval, of which each side has a part. What was missed is a number of whole blocks, so an end lies half of one
 * further.
 */
function halfOf(one: number, other: number, before: Estimate, after: Estimate): number {
  const half = Math.hypot(one, other);
  const step = Math.max(before.step, after.step);
  return half > NO_BLOCK * step ? half + step / 2 : half;
}

/** A side without a sample is not zero: it may have missed blocks such as the other one shows. */
function highOf(side: Estimate, other: Estimate, rate: number): number {
  const isUnseen = side.samples === 0 && other.samples > 0 && rate > 1;
  return isUnseen ? UNSEEN_SAMPLES * Math.max(other.value / other.samples, 1) : side.high;
}

/** `rates`: bytes between samples, of both sides. */
export function changeBetween(before: Estimate, after: Estimate, rates: [number, number]): Interval {
  const value = after.value - before.value;
  const less = halfOf(after.value - after.low, highOf(before, after, rates[0]) - before.value, before, after);
  const more = halfOf(highOf(after, before, rates[1]) - after.value, before.value - before.low, before, after);
  return { value, low: value - less, high: value + more };
}

/** `stacks`: of both sides, each once. */
export function changeOf(block: Block, metric: Metric, stacks: Iterable<number>): Interval {
  const sides: [number[], number[]] = [[], []];
  for (const stack of stacks) sides[isAfter(block, stack) ? 1 : 0].push(stack);
  const [before, after] = block.facts.sides;
  // It is about blocks of the sizes that either side shows: docs/decisions/0105 says why.
  const [was, is] = sides.map((side) => estimate(block, metric, side, false));
  return changeBetween(was, is, [before.rate, after.rate]);
}
