// SPDX-License-Identifier: Apache-2.0
// What sampling missed behind samples of many kinds, and the 95 % interval of it.
// It computes what src/estimate/missed_mass.cc does; docs/decisions/0007 and 0105 say why.
import { type Cumulants, Distribution, type Group, cumulantsOf, plus } from "./distribution";

const TAIL = 0.025;
const EXTRA_SHARE = 0.7; // of a further sample, for the upper end
/** A large block is sampled with more than this probability: it has more than 1.25 R. */
const LARGE_PROBABILITY = 0.7135;
const FINE_STEP = 0.1; // of the standard deviation: such steps cannot be felt
const FINE_STEP_AMONG_SEVERAL = 0.2;
const FEW_STEPS = 2;
const MOST_CONVOLVED = 8;

function nearlyEqual(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-9 * Math.max(a, b);
}

function mergeGroups(groups: Group[]): Group[] {
  const merged: Group[] = [];
  for (const group of groups.slice().sort((a, b) => a.step - b.step || a.probability - b.probability)) {
    const last = merged.length === 0 ? undefined : merged[merged.length - 1];
    if (last && nearlyEqual(group.step, last.step) && nearlyEqual(group.probability, last.probability)) {
      last.samples += group.samples;
    } else {
      merged.push({ ...group });
    }
  }
  return merged;
}

/** Where `excess`, which does not decrease, becomes 0 or more: between these two. */
function findCrossing(
  excess: (x: number) => number,
  from: number,
  to: number,
  tolerance: number,
): { below: number; above: number } {
  let below = from;
  let above = to;
  let atBelow = excess(below);
  if (atBelow >= 0) return { below, above: below };
  let atAbove = excess(above);
  for (let i = 0; i < 60 && atAbove < 0; ++i) {
    below = above;
    atBelow = atAbove;
    above *= 2;
    atAbove = excess(above);
  }
  for (let i = 0; i < 100 && above - below > tolerance; ++i) {
    const secant = i % 3 === 2 ? 0.5 : -atBelow / (atAbove - atBelow);
    const middle = below + (above - below) * Math.min(Math.max(secant, 0.02), 0.98);
    const atMiddle = excess(middle);
    if (atMiddle >= 0) {
      above = middle;
      atAbove = atMiddle;
    } else {
      below = middle;
      atBelow = atMiddle;
    }
  }
  return { below, above };
}

/** What a block weighs (0: a continuous part), and what hides behind one sample of it. */
interface Kind {
  step: number;
  mean: number;
}

export class Missed {
  private sum: Cumulants = { mean: 0, variance: 0, third: 0 };
  private largest: Kind = { step: 0, mean: 0 };
  private unseen: Kind = { step: 0, mean: 0 };
  private hasSmall = false;
  private certainHazard = 0;
  private missedHazard = 0;
  private readonly groups: Group[] = [];

  get mean(): number {
    return this.sum.mean;
  }

  /** Of the blocks whose missed ones weigh most; 0: they are of many sizes, or there are none. */
  get step(): number {
    return this.largest.step;
  }

  add(group: Group): void {
    const q = 1 - group.probability;
    const hazard = -Math.log(q) * group.samples;
    this.certainHazard += hazard;
    this.hasSmall ||= !(group.probability > LARGE_PROBABILITY);
    if (!(q > 0) || !(group.step > 0)) return;
    const mean = (group.step * q) / group.probability;
    this.sum = plus(this.sum, cumulantsOf(group));
    this.missedHazard += (hazard * mean) / group.step;
    if (mean > this.largest.mean) this.largest = { step: group.step, mean };
    this.groups.push(group);
  }

  /** A part of which only moments are known; `probability` is that of the blocks behind which `largestMean` hides. */
  addContinuous(mean: number, variance: number, largestMean: number, probability: number): void {
    if (!(mean > 0) || !(variance > 0)) return;
    this.hasSmall ||= !(probability > LARGE_PROBABILITY);
    const scale = variance / mean;
    this.sum = plus(this.sum, { mean, variance, third: 2 * variance * scale });
    this.missedHazard += mean / scale;
    this.certainHazard = Infinity;
    if (largestMean > this.largest.mean) this.largest = { step: 0, mean: largestMean };
  }

  /** Blocks may be there behind a sample of which so much hides. Where only large ones were sampled, the upper end says so. */
  allowFor(mean: number): void {
    if (mean > this.unseen.mean) this.unseen = { step: 0, mean };
  }

  /** The kind that the upper end allows for. */
  private further(allows: boolean): Kind {
    return !allows || this.hasSmall || this.largest.mean > this.unseen.mean ? this.largest : this.unseen;
  }

  /** `allows`: for blocks as in allowFor(), too. */
  interval(allows = true): { low: number; high: number } {
    const { mean, variance } = this.sum;
    const further = this.further(allows);
    if (!(variance > 0) && !(further.mean > 0)) return { low: 0, high: 0 };
    const deviation = Math.sqrt(variance);
    const { missed, fine } = this.parts(deviation);
    const more = this.withExtra(missed, fine, further);
    const tolerance = (missed.hasRest ? 1e-4 : 1e-7) * Math.max(deviation, further.step > 0 ? 0 : further.mean);
    const hazard = this.missedHazard / mean;
    const low =
      mean > 0
        ? findCrossing(
            (x) => missed.cdf(x) - TAIL * -Math.expm1(-this.certainHazard - hazard * x),
            0,
            mean,
            tolerance,
          ).below
        : 0;
    const high = findCrossing(
      (x) => (1 - EXTRA_SHARE) * missed.cdf(x) + EXTRA_SHARE * more.cdf(x) - (1 - TAIL),
      0,
      mean + 2 * deviation + further.mean,
      tolerance,
    );
    return { low, high: high.above };
  }

  private parts(deviation: number): { missed: Distribution; fine: number } {
    let fine = FINE_STEP * deviation;
    let felt = mergeGroups(this.groups.filter((group) => group.step > fine));
    if (felt.length > FEW_STEPS) {
      fine = FINE_STEP_AMONG_SEVERAL * deviation;
      felt = felt.filter((group) => group.step > fine);
    }
    if (felt.length > MOST_CONVOLVED) {
      felt.sort((a, b) => cumulantsOf(b).variance - cumulantsOf(a).variance);
      felt.length = MOST_CONVOLVED;
    }
    let rest = this.sum;
    for (const group of felt) rest = plus(rest, cumulantsOf(group), -1);
    const missed = new Distribution(rest, felt.length === 0 || rest.variance > 1e-9 * this.sum.variance);
    for (const group of felt) missed.convolve(group);
    if (missed.hasRest && felt.length > 0) missed.coarsen(FINE_STEP * deviation);
    return { missed, fine };
  }

  /** With one more sample, of the kind behind which most can hide. */
  private withExtra(missed: Distribution, fine: number, { step, mean }: Kind): Distribution {
    const more = missed.copy();
    if (!(mean > 0)) return more;
    const sample = { step, probability: step / (step + mean), samples: 1 };
    const own = cumulantsOf(sample);
    if (step > 0 && step > Math.max(fine, FINE_STEP * Math.sqrt(own.variance))) more.convolve(sample);
    else if (step > 0) more.addRest(own);
    else more.addRest({ mean, variance: mean * mean, third: 2 * mean * mean * mean });
    return more;
  }
}
