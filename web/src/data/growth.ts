// SPDX-License-Identifier: Apache-2.0
// What looks at the same processes tell together: growth since one of them, and what was allocated in a second.
import { type Block, type Family, type Holdings, KIND_PLAIN, LABEL_IS_AFTER, type Metric } from "./block";
import { isRate, type Values, valuesOf } from "./values";

const noneBefore = () => false;

/** A look, as far as rates need it. */
export interface Allocated {
  seconds: number;
  bytes: Float64Array; // by stack
  blocks: Float64Array;
}

export function allocatedIn(block: Block): Allocated {
  return {
    seconds: block.facts.live?.seconds ?? 0,
    bytes: valuesOf(block, "alloc_space", noneBefore).value,
    blocks: valuesOf(block, "alloc_objects", noneBefore).value,
  };
}

/** The block with what was allocated in a second since an earlier look; stacks of processes that ended count as 0. */
export function withRates(block: Block, before: Allocated, now: Allocated): Block {
  const seconds = now.seconds - before.seconds;
  const count = block.stacks.node.length;
  const family: Family = {
    begin: new Uint32Array(count + 1),
    kind: new Uint32Array(count).fill(KIND_PLAIN),
    samples: new Float64Array(count),
    row: new Uint32Array(count),
  };
  const first = block.plain.length / 2;
  const plain = new Float64Array(block.plain.length + 2 * count);
  plain.set(block.plain);
  const rate = (later: number, earlier: number | undefined) =>
    seconds > 0 ? Math.max(later - (earlier ?? 0), 0) / seconds : 0;
  for (let stack = 0; stack < count; ++stack) {
    family.begin[stack + 1] = stack + 1;
    family.row[stack] = first + stack;
    plain[2 * (first + stack)] = rate(now.bytes[stack], before.bytes[stack]);
    plain[2 * (first + stack) + 1] = rate(now.blocks[stack], before.blocks[stack]);
  }
  const facts = { ...block.facts, metrics: [...block.facts.metrics, "rate_objects" as const, "rate_space" as const] };
  return { ...block, facts, families: [...block.families, family], plain };
}

function joined<T extends Uint32Array | Float64Array>(a: T, b: T): T {
  const all = new (a.constructor as new (size: number) => T)(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}

/** Two looks as a difference: the stacks of the earlier one first, then those of the later one. */
export class Difference {
  private before: Block | null = null;
  private now: Block | null = null;
  private labels: Block["labels"] | null = null;
  private stacks: Block["stacks"] | null = null;

  /** Stacks have the same numbers in both, as far as the earlier look has any. */
  of(before: Block, now: Block): Block {
    if (this.labels === null || this.before?.stacks !== before.stacks || this.now?.stacks !== now.stacks) {
      const { process, heap, flags } = now.labels;
      this.labels = {
        process: joined(process, process),
        heap: joined(heap, heap),
        flags: joined(
          flags,
          flags.map((flag) => flag | LABEL_IS_AFTER),
        ),
      };
      this.stacks = {
        node: joined(before.stacks.node, now.stacks.node),
        label: joined(
          before.stacks.label,
          now.stacks.label.map((label) => label + flags.length),
        ),
      };
    }
    this.before = before;
    this.now = now;
    const metrics = now.facts.metrics.filter((metric) => !isRate(metric));
    return {
      ...now,
      facts: { ...now.facts, sides: [before.facts.sides[0], now.facts.sides[0]], metrics, changes: {} },
      labels: this.labels,
      stacks: this.stacks ?? now.stacks,
      ...heldByBoth(before, now),
    };
  }
}

function heldByBoth(before: Block, now: Block): Holdings {
  const totalRows = before.totals.size.length;
  const plainRows = before.plain.length / 2;
  const families = before.families.map((family, which): Family => {
    const more = now.families[which];
    const entries = family.kind.length;
    return {
      begin: joined(
        family.begin.subarray(0, family.begin.length - 1),
        more.begin.map((at) => at + entries),
      ),
      kind: joined(family.kind, more.kind),
      samples: joined(family.samples, more.samples),
      row: joined(
        family.row,
        more.row.map((row, i) => row + (more.kind[i] === KIND_PLAIN ? plainRows : totalRows)),
      ),
    };
  });
  return {
    families,
    lifetimes: {
      begin: joined(
        before.lifetimes.begin.subarray(0, before.lifetimes.begin.length - 1),
        now.lifetimes.begin.map((at) => at + before.lifetimes.bytes.length),
      ),
      lifetimeClass: joined(before.lifetimes.lifetimeClass, now.lifetimes.lifetimeClass),
      bytes: joined(before.lifetimes.bytes, now.lifetimes.bytes),
      blocks: joined(before.lifetimes.blocks, now.lifetimes.blocks),
    },
    totals: {
      size: joined(before.totals.size, now.totals.size),
      numbers: joined(before.totals.numbers, now.totals.numbers),
    },
    plain: joined(before.plain, now.plain),
  };
}

/** How much more each stack of a look holds than at an earlier one. */
export function growthOf(before: Block, now: Block, metric: Metric): Values {
  const values = valuesOf(now, metric, noneBefore);
  const earlier = valuesOf(before, metric, noneBefore).value;
  for (let stack = 0; stack < earlier.length; ++stack) values.value[stack] -= earlier[stack];
  return values;
}
