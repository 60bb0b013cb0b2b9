// SPDX-License-Identifier: Apache-2.0
// What each stack holds of a metric, and how far off that may be.
import { type Block, FIRST_KIND, KIND_PLAIN, KIND_TOTALS, type Metric, RATE_FAMILY, TOTALS_COLUMNS } from "./block";

export const isBytes = (metric: Metric): boolean => metric.endsWith("_space");

export const isRate = (metric: Metric): boolean => metric.startsWith("rate_");
/** Whether samples stand for it, and their interval is computed here; mappings are known exactly. */
export const isSampled = (metric: Metric): boolean => !isRate(metric) && !/^(mapped|inuse_resident|js)_/.test(metric);

export function familyOf(metric: Metric): number {
  if (isRate(metric)) return RATE_FAMILY;
  if (metric.startsWith("temporary")) return 5;
  if (metric.startsWith("inuse_resident")) return 6;
  if (metric.startsWith("js")) return 7;
  if (metric.startsWith("mapped_resident")) return 4;
  if (metric.startsWith("mapped")) return 3;
  return metric.startsWith("inuse") ? 0 : metric.startsWith("alloc") ? 1 : 2;
}

/** p: the probability that a block of the kind is sampled. */
export function probabilityOf(block: Block, kind: number): number {
  const { size, rate, share } = block.kinds;
  const drawn = rate[kind] <= 1 ? 1 : -Math.expm1(-Math.max(size[kind], 1) / rate[kind]);
  return drawn / share[kind];
}

export interface Values {
  metric: Metric;
  /** By stack, signed in a difference. */
  value: Float64Array;
  /** Of what the samples do not show. */
  variance: Float64Array;
}

/** Of all stacks. In a difference those of the first profile count as negative. */
export function valuesOf(block: Block, metric: Metric, isBefore: (stack: number) => boolean): Values {
  const bytes = isBytes(metric);
  const family = block.families[familyOf(metric)];
  const kinds = block.kinds.size.length;
  const one = new Float64Array(kinds); // what a sample stands for
  const spread = new Float64Array(kinds);
  for (let kind = 0; kind < kinds; ++kind) {
    const p = probabilityOf(block, kind);
    const step = bytes ? block.kinds.size[kind] : 1;
    // The two summands as in Accumulator: the sample, which is certain, and what it stands for beside.
    one[kind] = step + (step * (1 - p)) / p;
    spread[kind] = (step * step * (1 - p)) / (p * p);
  }
  const count = block.stacks.node.length;
  const value = new Float64Array(count);
  const variance = new Float64Array(count);
  for (let stack = 0; stack < count; ++stack) {
    let sum = 0;
    let square = 0;
    for (let i = family.begin[stack]; i < family.begin[stack + 1]; ++i) {
      const kind = family.kind[i];
      const row = family.row[i];
      if (kind >= FIRST_KIND) {
        sum += family.samples[i] * one[kind - FIRST_KIND];
        square += family.samples[i] * spread[kind - FIRST_KIND];
      } else if (kind === KIND_TOTALS) {
        sum += block.totals.numbers[TOTALS_COLUMNS * row + (bytes ? 0 : 1)];
        square += block.totals.numbers[TOTALS_COLUMNS * row + (bytes ? 2 : 3)];
      } else if (kind === KIND_PLAIN) {
        sum += block.plain[2 * row + (bytes ? 0 : 1)];
      }
    }
    value[stack] = isBefore(stack) ? -sum : sum;
    variance[stack] = square;
  }
  return { metric, value, variance };
}
