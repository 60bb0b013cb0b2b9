// SPDX-License-Identifier: Apache-2.0
// What the nodes of a view and its rows hold: sums over stacks.
import { type Block } from "../data/block";
import { isAfter } from "../data/change";
import { type Values } from "../data/values";
import type { Tree } from "./tree";
import type { View } from "./view";

/** Which part of a change is looked at: widths cannot be negative. */
export type Part = "all" | "grown" | "shrunk";

/** By node. `self` and `total` have signs; `weight` is what the node is as wide as. */
export interface Sums {
  self: Float64Array;
  total: Float64Array;
  weight: Float64Array;
  variance: Float64Array;
  /** In a difference: what there was before; else empty. */
  before: Float64Array;
  selfBefore: Float64Array;
}

const ROUNDING = 1e-9;

/** Adds what each node has itself to all nodes above it. */
export function addUp(tree: Tree, own: Float64Array): Float64Array {
  const total = own.slice();
  for (let i = total.length - 1; i > 0; --i) total[tree.parent[i]] += total[i];
  return total;
}

export function sumUp(
  block: Block,
  view: View,
  values: Values,
  isSelected: Uint8Array | null,
  part: Part,
  isListed: ((group: number) => boolean) | null,
): Sums {
  const nodes = view.group.length;
  const self = new Float64Array(nodes);
  const variance = new Float64Array(nodes);
  const isDifference = block.facts.sides.length > 1;
  const before = new Float64Array(isDifference ? nodes : 0);
  for (let stack = 0; stack < view.ofStack.length; ++stack) {
    if (isSelected !== null && isSelected[stack] === 0) continue;
    const node = view.ofStack[stack];
    if (isListed !== null && !isListed(view.group[node])) continue;
    self[node] += values.value[stack];
    variance[node] += values.variance[stack];
    if (isDifference && !isAfter(block, stack)) before[node] -= values.value[stack];
  }
  // Sums of the same summands in another order are not quite the same.
  if (isDifference) self.forEach((value, i) => (self[i] = Math.abs(value) > ROUNDING * before[i] ? value : 0));
  const own = part === "all" ? self : self.map((value) => Math.max(part === "grown" ? value : -value, 0));
  const total = addUp(view, self);
  return {
    self,
    total,
    weight: addUp(view, own),
    variance: addUp(view, variance),
    before: addUp(view, before),
    selfBefore: before,
  };
}

export interface Row {
  group: number;
  self: number;
  total: number;
  before: number;
  selfBefore: number;
  /** Of a look of a live page: how much more it holds itself than before, and allocates in a second. */
  growth?: number;
  rate?: number;
  /** Of the metric's pair, bytes or blocks: only where a column needs them. */
  pairSelf?: number;
  pairTotal?: number;
}

/** Rows of what is below a node, and of the path to it. */
export function rowsOf(view: View, sums: Sums, node: number): Row[] {
  const groups = view.groups.groups.length;
  const self = new Float64Array(groups);
  const total = new Float64Array(groups);
  const before = new Float64Array(groups);
  const selfBefore = new Float64Array(groups);
  const isSeen = new Uint8Array(groups);
  const isDifference = sums.before.length > 0;
  for (let i = Math.max(node, 1); i < view.end[node]; ++i) {
    const group = view.group[i];
    isSeen[group] = 1;
    self[group] += sums.self[i];
    if (isDifference) selfBefore[group] += sums.selfBefore[i];
    if (view.isOutermost[i] === 1) {
      total[group] += sums.total[i];
      if (isDifference) before[group] += sums.before[i];
    }
  }
  const isAbove = new Set<number>();
  for (let i = node; i > 0; i = view.parent[i]) {
    if (view.isOutermost[i] === 0 || i === node) continue;
    isAbove.add(view.group[i]);
    isSeen[view.group[i]] = 1;
    total[view.group[i]] = sums.total[node];
    if (isDifference) before[view.group[i]] = sums.before[node];
  }
  const rows: Row[] = [];
  for (let group = 0; group < groups; ++group) {
    if (isSeen[group] === 0) continue;
    const row = {
      group,
      self: self[group],
      total: total[group],
      before: isDifference ? before[group] : 0,
      selfBefore: isDifference ? selfBefore[group] : 0,
    };
    if (row.self !== 0 || row.total !== 0 || row.before !== 0 || row.selfBefore !== 0) rows.push(row);
  }
  return rows;
}

/** The rows with how much each group grew and allocates; also groups that hold nothing any more. */
export function withGrowth(rows: Row[], growth: Row[], rates: Row[]): Row[] {
  const known = new Map(rows.map((row) => [row.group, { ...row, growth: 0, rate: 0 }]));
  const rowOf = (group: number) => {
    const row = known.get(group) ?? { group, self: 0, total: 0, before: 0, selfBefore: 0, growth: 0, rate: 0 };
    known.set(group, row);
    return row;
  };
  for (const row of growth) if (row.self !== 0) rowOf(row.group).growth = row.self;
  for (const row of rates) if (row.self !== 0) rowOf(row.group).rate = row.self;
  return [...known.values()];
}

export function withPair(rows: Row[], pairs: Row[]): Row[] {
  const known = new Map(pairs.map((row) => [row.group, row]));
  return rows.map((row) => {
    const pair = known.get(row.group);
    return { ...row, pairSelf: pair?.self ?? 0, pairTotal: pair?.total ?? 0 };
  });
}

/** What the stacks hold that have one of the groups on them, below a node. */
export function matched(view: View, weight: Float64Array, isMatch: Uint8Array, node: number): number {
  let sum = 0;
  for (let i = node; i > 0; i = view.parent[i]) if (isMatch[view.group[i]] === 1) return weight[node];
  for (let i = Math.max(node, 1); i < view.end[node]; ) {
    if (isMatch[view.group[i]] === 1) {
      sum += weight[i];
      i = view.end[i];
    } else {
      ++i;
    }
  }
  return sum;
}

/** For each group, whether the expression is in its name, its file or its module. */
export function matchingGroups(view: View, expression: RegExp): Uint8Array {
  return Uint8Array.from(view.groups.groups, (group) =>
    expression.test(group.name) || expression.test(group.file) || expression.test(group.module) ? 1 : 0,
  );
}
