// SPDX-License-Identifier: Apache-2.0
// Estimates with intervals of any set of stacks, as an Accumulator makes them (src/profile/model/estimate.cc).
import { type Block, FIRST_KIND, KIND_TOTALS, type Metric, TOTALS_COLUMNS } from "./block";
import { Missed } from "./missed";
import { familyOf, isBytes, probabilityOf } from "./values";

export interface Interval {
  value: number;
  low: number;
  high: number;
}

export interface Estimate extends Interval {
  samples: number;
  /** The size of the blocks whose missed ones weigh most, 1 of counts; 0: of many sizes, or none. */
  step: number;
}

/** Blocks of 16 bytes at least, of which none was sampled. */
const SMALLEST = 16;

function allowForSmall(missed: Missed, rate: number, bytes: boolean): void {
  missed.allowFor(bytes ? rate : rate / SMALLEST);
}

/** Sums over samples of several sizes: two kinds of blocks that give the same sums, else only moments. */
function addTotals(missed: Missed, samples: number, size: number, numbers: Float64Array, bytes: boolean): void {
  const [weightBytes, weightCount, varianceBytes, varianceCount, mostBytes, mostCount] = numbers;
  const missedCount = weightCount - samples;
  if (!(mostCount > 0)) return;
  // The maxima are of the smallest block: its size, and from p = 1 - e^(-size / rate) the rate.
  const s1 = mostBytes / mostCount;
  allowForSmall(missed, s1 / Math.log1p(1 / mostCount), bytes);
  const add = (step: number, probability: number, n: number) =>
    missed.add({ step: bytes ? step : 1, probability, samples: n });
  if (Math.abs(mostCount * samples - missedCount) <= 1e-6 * missedCount + 1e-12 * weightCount) {
    add(size / samples, 1 / (1 + mostCount), samples);
    return;
  }
  const c1 = 1 + mostCount;
  const n1 =
    (weightBytes * samples - size * weightCount) / (s1 * c1 * samples + weightBytes - s1 * weightCount - c1 * size);
  const n2 = samples - n1;
  const s2 = (size - n1 * s1) / n2;
  const p2 = n2 / (weightCount - n1 * c1);
  if (n1 > 0 && n2 > 0 && s2 > s1 && p2 > 0 && p2 <= 1) {
    add(s1, 1 / c1, n1);
    add(s2, p2, n2);
  } else if (bytes) {
    missed.addContinuous(weightBytes - size, varianceBytes, mostBytes, 1 / c1);
  } else {
    missed.addContinuous(missedCount, varianceCount, mostCount, 1 / c1);
  }
}

/** `stacks`: each once; `allows`: for small blocks beside large ones, of which none was sampled. */
export function estimate(block: Block, metric: Metric, stacks: Iterable<number>, allows = true): Estimate {
  const family = block.families[familyOf(metric)];
  const bytes = isBytes(metric);
  const missed = new Missed();
  const samples = new Map<number, number>(); // by kind
  let certain = 0;
  let seen = 0;
  for (const stack of stacks) {
    for (let i = family.begin[stack]; i < family.begin[stack + 1]; ++i) {
      const kind = family.kind[i];
      seen += family.samples[i];
      if (kind >= FIRST_KIND) {
        samples.set(kind, (samples.get(kind) ?? 0) + family.samples[i]);
      } else if (kind === KIND_TOTALS) {
        const row = family.row[i];
        const numbers = block.totals.numbers.subarray(TOTALS_COLUMNS * row, TOTALS_COLUMNS * (row + 1));
        certain += bytes ? block.totals.size[row] : family.samples[i];
        addTotals(missed, family.samples[i], block.totals.size[row], numbers, bytes);
      } else {
        // Exact: mappings. What a file without statistics says has no interval anyway.
        certain += block.plain[2 * family.row[i] + (bytes ? 0 : 1)];
      }
    }
  }
  for (const [kind, count] of samples) {
    const step = bytes ? block.kinds.size[kind - FIRST_KIND] : 1;
    certain += count * step;
    missed.add({ step, probability: probabilityOf(block, kind - FIRST_KIND), samples: count });
    const rate = block.kinds.rate[kind - FIRST_KIND];
    if (rate > 1) allowForSmall(missed, rate, bytes);
  }
  const value = certain + missed.mean;
  const ends = missed.interval(allows);
  return { value, low: Math.min(certain + ends.low, value), high: Math.max(certain + ends.high, value), samples: seen, step: missed.step };
}
