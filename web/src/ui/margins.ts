// SPDX-License-Identifier: Apache-2.0
// Intervals of what is on the screen, each computed when it is first asked for.
import { useEffect, useMemo, useState } from "preact/hooks";
import { estimate, type Interval } from "../data/accumulate";
import type { Block, Metric } from "../data/block";
import { isSampled } from "../data/values";
import type { Row } from "../model/sums";
import type { Pictures } from "./pictures";

export interface Margins {
  whole: Interval | null;
  ofNode: (node: number) => Interval | null;
  /** "12%", and whether that is so much that the row is faded. */
  ofRow: (row: Row) => { text: string; isWide: boolean } | null;
}

const NONE: Margins = { whole: null, ofNode: () => null, ofRow: () => null };
const WIDE = 0.5; // of the value
const AT_ONCE_MS = 12; // then the screen is drawn, and the next rows get theirs

/** Half of the interval, the larger one, as a share of the value. */
export function marginOf(interval: Interval): number {
  const half = Math.max(interval.value - interval.low, interval.high - interval.value);
  return interval.value > 0 ? half / interval.value : 0;
}

export function marginText(margin: number): string {
  const percent = 100 * margin;
  return `${percent >= 0.95 || percent === 0 ? percent.toFixed(0) : "<1"}%`;
}

class Known {
  private readonly rows = new Map<number, Interval>();
  private readonly nodes = new Map<number, Interval>();

  constructor(
    private readonly block: Block,
    private readonly pictures: Pictures,
    private readonly metric: Metric,
  ) {}

  ofNode(node: number): Interval {
    const { view } = this.pictures;
    let known = this.nodes.get(node);
    if (known === undefined) {
      known = estimate(this.block, this.metric, this.stacks(view.stackBegin[node], view.stackBegin[view.end[node]]));
      this.nodes.set(node, known);
    }
    return known;
  }

  /** Of what the row's group holds itself; of groups that hold nothing themselves, with what they call. */
  ofRow(row: Row): Interval | undefined {
    return this.rows.get(row.group);
  }

  compute(row: Row): void {
    this.rows.set(row.group, estimate(this.block, this.metric, this.rowStacks(row)));
  }

  private *stacks(begin: number, end: number): Generator<number> {
    const { view, isSelected } = this.pictures;
    for (let i = begin; i < end; ++i) {
      if (isSelected === null || isSelected[view.stacks[i]] === 1) yield view.stacks[i];
    }
  }

  private *rowStacks(row: Row): Generator<number> {
    const { view, zoom } = this.pictures;
    for (let node = view.parent[zoom]; node > 0; node = view.parent[node]) {
      if (view.group[node] !== row.group || row.self !== 0) continue;
      yield* this.stacks(view.stackBegin[zoom], view.stackBegin[view.end[zoom]]);
      return;
    }
    for (const node of this.nodesOf(row.group)) {
      if (node < zoom || node >= view.end[zoom]) continue;
      if (row.self !== 0) yield* this.stacks(view.stackBegin[node], view.stackBegin[node + 1]);
      else if (view.isOutermost[node] === 1) yield* this.stacks(view.stackBegin[node], view.stackBegin[view.end[node]]);
    }
  }

  private byGroup: number[][] | null = null;
  private nodesOf(group: number): number[] {
    if (this.byGroup === null) {
      const { view } = this.pictures;
      this.byGroup = view.groups.groups.map(() => []);
      for (let i = 1; i < view.group.length; ++i) this.byGroup[view.group[i]].push(i);
    }
    return this.byGroup[group];
  }
}

/** What memprof found of a change, where the row is that of the whole function. */
function marginOfChange(block: Block, pictures: Pictures, metric: Metric): Margins["ofRow"] {
  const { view, zoom, isSelected } = pictures;
  const changes = block.facts.changes[metric];
  if (zoom > 0 || isSelected !== null || view.options.by !== "function" || !changes) return NONE.ofRow;
  const known = new Map(changes.rows.map((row) => [`${row.name}\0${row.file}\0${row.module}`, row]));
  return (row) => {
    const group = view.groups.groups[row.group];
    const change = known.get(`${group.name}\0${group.file}\0${group.module}`);
    if (change === undefined || change.low === null || change.high === null || row.self === 0) return null;
    const half = Math.max(row.self - change.low, change.high - row.self);
    return { text: marginText(half / Math.abs(row.self)), isWide: half >= Math.abs(row.self) };
  };
}

export function useMargins(block: Block, pictures: Pictures, metric: Metric, shown: Row[]): Margins {
  const { view, isSelected, zoom, isListed } = pictures;
  const isKnown = block.facts.has_intervals && block.facts.sides.length === 1 && isListed === null && isSampled(metric);
  const known = useMemo(() => new Known(block, pictures, metric), [block, view, isSelected, zoom, metric]);
  const whole = useMemo(() => (isKnown ? known.ofNode(0) : null), [block, view, isSelected, metric, isKnown]);
  const [, setRound] = useState(0);
  useEffect(() => {
    if (!isKnown) return undefined;
    let timer = 0;
    const work = () => {
      const begin = performance.now();
      const missing = shown.filter((row) => known.ofRow(row) === undefined);
      for (const row of missing) {
        known.compute(row);
        if (performance.now() - begin > AT_ONCE_MS) break;
      }
      if (missing.length === 0) return;
      setRound((round) => round + 1);
      timer = window.setTimeout(work, 0);
    };
    timer = window.setTimeout(work, 0);
    return () => window.clearTimeout(timer);
  }, [known, isKnown, shown]);
  const ofChange = useMemo(() => marginOfChange(block, pictures, metric), [block, view, isSelected, zoom, metric]);
  if (block.facts.sides.length > 1) return { ...NONE, ofRow: ofChange };
  if (!isKnown) return NONE;
  return {
    whole,
    ofNode: (node) => known.ofNode(node),
    ofRow: (row) => {
      const interval = known.ofRow(row);
      if (interval === undefined) return null;
      const margin = marginOf(interval);
      return { text: marginText(margin), isWide: margin > WIDE };
    },
  };
}
