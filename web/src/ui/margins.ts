// SPDX-License-Identifier: Apache-2.0
// Intervals of what is on the screen, each computed once, and most of them after it is drawn.
import { useEffect, useMemo, useState } from "preact/hooks";
import { estimate, type Interval } from "../data/accumulate";
import type { Block, Metric } from "../data/block";
import { changeOf } from "../data/change";
import { isSampled } from "../data/values";
import { nodesOf, type Parts, stacksOf } from "../model/parts";
import type { Row } from "../model/sums";
import type { View } from "../model/view";
import type { Pictures } from "./pictures";
import { metricText, signedText } from "./text";

export interface Margins {
  whole: Interval | null;
  /** null: not known, or not yet. */
  ofNode: (node: number) => Interval | null;
  /** Computed now, unless it is known. */
  atOnce: (node: number) => Interval | null;
  ofParts: (parts: Parts) => Interval | null;
  /** "12%", and whether that is so much that the row is faded. */
  ofRow: (row: Row) => { text: string; isWide: boolean } | null;
}

export const NO_MARGINS: Margins = {
  whole: null,
  ofNode: () => null,
  atOnce: () => null,
  ofParts: () => null,
  ofRow: () => null,
};
export const MARGIN_HINT = "half of the 95 % interval, the larger one, of the number before it";
const WIDE = 0.5; // of the value
const AT_ONCE_MS = 12; // then the screen is drawn, and the next rows get theirs

/** Half of the interval, the larger one, as a share of the value. */
export function marginOf(interval: Interval): number {
  const half = Math.max(interval.value - interval.low, interval.high - interval.value);
  return interval.value !== 0 ? half / Math.abs(interval.value) : 0;
}

/** " (95 %: 1 MiB to 2 MiB)", of a change with signs; empty where nothing is known. */
export function intervalText(metric: Metric, interval: Interval | null, isChange = false): string {
  const text = isChange ? signedText : metricText;
  return interval === null ? "" : ` (95 %: ${text(metric, interval.low)} to ${text(metric, interval.high)})`;
}

export function marginText(margin: number): string {
  const percent = 100 * margin;
  return `${percent >= 0.95 || percent === 0 ? percent.toFixed(0) : "<1"}%`;
}

/** Of what stands in a view, whatever of it is looked at. */
class KnownNodes {
  private readonly known = new Map<number, Interval>();

  constructor(
    private readonly block: Block,
    private readonly view: View,
    private readonly isSelected: Uint8Array | null,
    private readonly metric: Metric,
  ) {}

  peek(node: number): Interval | null {
    return this.known.get(node) ?? null;
  }

  of(node: number): Interval {
    let interval = this.known.get(node);
    if (interval === undefined) {
      interval = this.ofParts({ nodes: [node], isOwn: false });
      this.known.set(node, interval);
    }
    return interval;
  }

  ofParts(parts: Parts): Interval {
    const stacks = stacksOf(this.view, parts, this.isSelected);
    const { block, metric } = this;
    return block.facts.sides.length > 1 ? changeOf(block, metric, stacks) : estimate(block, metric, stacks);
  }
}

/** Of rows, which are of what is looked at. */
class KnownRows {
  private readonly known = new Map<number, Interval>();

  constructor(
    private readonly nodes: KnownNodes,
    private readonly view: View,
    private readonly zoom: number,
  ) {}

  /** Of what the row's group holds itself; of groups that hold nothing themselves, with what they call. */
  peek(row: Row): Interval | null {
    return this.known.get(row.group) ?? null;
  }

  compute(row: Row): void {
    this.known.set(row.group, this.nodes.ofParts({ nodes: this.nodesOf(row), isOwn: row.self !== 0 }));
  }

  private nodesOf(row: Row): Iterable<number> {
    const { view, zoom } = this;
    if (row.self === 0) {
      for (let node = view.parent[zoom]; node > 0; node = view.parent[node]) {
        if (view.group[node] === row.group) return [zoom];
      }
    }
    return nodesOf(view, row.group).filter(
      (node) => node >= zoom && node < view.end[zoom] && (row.self !== 0 || view.isOutermost[node] === 1),
    );
  }
}

/** Does one job after the other, and tells how often something was done; once the screen is drawn, and lets it be drawn anew in between. */
export function useLater(jobs: () => (() => void)[], inputs: readonly unknown[]): number {
  const [round, setRound] = useState(0);
  useEffect(() => {
    const open = jobs();
    let timer = 0;
    const work = () => {
      const begin = performance.now();
      while (open.length > 0 && performance.now() - begin < AT_ONCE_MS) open.shift()?.();
      setRound((round) => round + 1);
      if (open.length > 0) timer = window.setTimeout(work, 0);
    };
    if (open.length > 0) timer = window.setTimeout(work, 0);
    return () => window.clearTimeout(timer);
  }, inputs);
  return round;
}

/** What memprof found of a change, where the row is that of the whole function: by a test, which is sharper where samples are few. */
function marginOfChange(block: Block, pictures: Pictures, metric: Metric): Margins["ofRow"] {
  const { view, zoom, isSelected } = pictures;
  const changes = block.facts.changes[metric];
  if (zoom > 0 || isSelected !== null || view.options.by !== "function" || !changes) return NO_MARGINS.ofRow;
  const known = new Map(changes.rows.map((row) => [`${row.name}\0${row.file}\0${row.module}`, row]));
  return (row) => {
    const group = view.groups.groups[row.group];
    const change = known.get(`${group.name}\0${group.file}\0${group.module}`);
    if (change === undefined || change.low === null || change.high === null || row.self === 0) return null;
    const half = Math.max(row.self - change.low, change.high - row.self);
    return { text: marginText(half / Math.abs(row.self)), isWide: half >= Math.abs(row.self) };
  };
}

/** `shown`: the rows that can be seen; `chosen`: the node that all is said about. */
export function useMargins(block: Block, pictures: Pictures, metric: Metric, shown: Row[], chosen: number): Margins {
  const { view, isSelected, zoom, isListed } = pictures;
  const isDifference = block.facts.sides.length > 1;
  const isKnown = block.facts.has_intervals && isListed === null && isSampled(metric);
  const nodes = useMemo(() => new KnownNodes(block, view, isSelected, metric), [block, view, isSelected, metric]);
  const rows = useMemo(() => new KnownRows(nodes, view, zoom), [nodes, view, zoom]);
  const whole = useMemo(() => (isKnown ? nodes.of(0) : null), [nodes, isKnown]);
  const round = useLater(() => {
    if (!isKnown) return [];
    const missing = shown.filter((row) => rows.peek(row) === null).map((row) => () => rows.compute(row));
    return nodes.peek(chosen) === null ? [() => void nodes.of(chosen), ...missing] : missing;
  }, [nodes, rows, isKnown, shown, chosen]);
  const ofChange = useMemo(() => marginOfChange(block, pictures, metric), [block, view, isSelected, zoom, metric]);
  return useMemo(() => {
    if (!isKnown) return isDifference ? { ...NO_MARGINS, ofRow: ofChange } : NO_MARGINS;
    return {
      whole,
      ofNode: (node) => nodes.peek(node),
      atOnce: (node) => nodes.of(node),
      ofParts: (parts) => nodes.ofParts(parts),
      ofRow: (row) => {
        const known = isDifference ? ofChange(row) : null;
        const interval = rows.peek(row);
        if (known !== null || interval === null) return known;
        const margin = marginOf(interval);
        return { text: marginText(margin), isWide: margin > (isDifference ? 1 : WIDE) };
      },
    };
  }, [isDifference, ofChange, isKnown, whole, nodes, rows, round]);
}
