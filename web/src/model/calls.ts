// SPDX-License-Identifier: Apache-2.0
// Who calls a function and what it calls, as trees that begin at it, and as rows of its direct callers and callees
// (src/profile/report/call_edges.h).
import type { Parts } from "./parts";
import { addUp } from "./sums";
import { type Tree, TreeMaker } from "./tree";
import type { View } from "./view";

export interface Branches {
  tree: Tree;
  weight: Float64Array;
}

export interface Edge {
  /** -1: for callers the root, for callees the function itself. */
  group: number;
  weight: number;
  parts: Parts;
}

export interface Sandwich {
  callers: Branches;
  callees: Branches;
  callerRows: Edge[];
  calleeRows: Edge[];
  total: number;
  self: number;
  /** What `total` is the sum of. */
  parts: Parts;
}

/** What is added up of an edge: numbers, and where their stacks stand. */
class EdgeSums {
  private readonly sums = new Map<number, { weight: number; nodes: number[] }>();

  add(neighbour: number, weight: number, node: number): void {
    const sum = this.sums.get(neighbour) ?? { weight: 0, nodes: [] };
    this.sums.set(neighbour, sum);
    sum.weight += weight;
    sum.nodes.push(node);
  }

  /** `own`: the neighbour that stands for what ends at the nodes themselves. */
  edges(own: number | null): Edge[] {
    return [...this.sums]
      .map(([group, { weight, nodes }]) => ({ group, weight, parts: { nodes, isOwn: group === own } }))
      .filter((edge) => edge.weight !== 0)
      .sort((a, b) => b.weight - a.weight || a.group - b.group);
  }
}

/** Nodes of the group that have none of it above them. */
function outermost(view: View, group: number): number[] {
  const nodes: number[] = [];
  for (let i = 1; i < view.group.length; ++i) {
    if (view.group[i] === group && view.isOutermost[i] === 1) nodes.push(i);
  }
  return nodes;
}

class Growing {
  private readonly maker = new TreeMaker();
  private readonly own: number[] = [0];

  child(parent: number, group: number): number {
    const node = this.maker.child(parent, group);
    this.own[node] ??= 0;
    return node;
  }
  add(node: number, weight: number): void {
    this.own[node] += weight;
  }
  finish(): Branches {
    const { tree, place } = this.maker.finish();
    const own = new Float64Array(this.own.length);
    this.own.forEach((weight, node) => (own[place[node]] = weight));
    return { tree, weight: addUp(tree, own) };
  }
}

/** `own`: what each node has itself, `weight`: with all below it. */
export function sandwichOf(view: View, own: Float64Array, weight: Float64Array, group: number): Sandwich {
  const callers = new Growing();
  const callees = new Growing();
  const callerSums = new EdgeSums();
  const calleeSums = new EdgeSums();
  let total = 0;
  let self = 0;
  const starts = outermost(view, group);
  for (const start of starts) {
    total += weight[start];
    let at = callers.child(0, group);
    for (let i = view.parent[start]; i > 0; i = view.parent[i]) at = callers.child(at, view.group[i]);
    callers.add(at, weight[start]);
    const made = new Map([[start, callees.child(0, group)]]);
    for (let i = start; i < view.end[start]; ++i) {
      const node = i === start ? made.get(i) : callees.child(made.get(view.parent[i]) ?? 0, view.group[i]);
      if (node === undefined) continue;
      made.set(i, node);
      callees.add(node, own[i]);
    }
  }
  // Each stack once for each different neighbour of the function on it.
  for (let i = 1; i < view.group.length; ++i) {
    if (view.group[i] !== group) continue;
    self += own[i];
    if (own[i] !== 0) calleeSums.add(-1, own[i], i);
    const caller = view.parent[i] > 0 ? view.group[view.parent[i]] : -1;
    if (!hasAbove(view, i, (node) => view.parent[node] > 0 && view.group[view.parent[node]] === caller, group)) {
      callerSums.add(caller, weight[i], i);
    }
    for (let child = i + 1; child < view.end[i]; child = view.end[child]) {
      const callee = view.group[child];
      if (hasEdgeAbove(view, i, group, callee)) continue;
      calleeSums.add(callee, weight[child], child);
    }
  }
  return {
    callers: callers.finish(),
    callees: callees.finish(),
    callerRows: callerSums.edges(null),
    calleeRows: calleeSums.edges(-1),
    total,
    self,
    parts: { nodes: starts, isOwn: false },
  };
}

/** Whether a node of the group above `node` has the property. */
function hasAbove(view: View, node: number, is: (node: number) => boolean, group: number): boolean {
  for (let i = view.parent[node]; i > 0; i = view.parent[i]) if (view.group[i] === group && is(i)) return true;
  return false;
}

/** Whether above the node the group calls the callee, too. */
function hasEdgeAbove(view: View, node: number, group: number, callee: number): boolean {
  for (let i = node; i > 0; i = view.parent[i]) {
    if (view.group[i] === callee && view.parent[i] > 0 && view.group[view.parent[i]] === group) return true;
  }
  return false;
}
