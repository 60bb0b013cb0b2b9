// SPDX-License-Identifier: Apache-2.0
// Where in a view the stacks stand of which something is the sum.
import type { View } from "./view";

export interface Parts {
  /** None of them stands below another one, unless they are meant by themselves. */
  nodes: Iterable<number>;
  /** Only what ends at the nodes, not what is below them. */
  isOwn: boolean;
}

interface NodeIndex {
  begin: Uint32Array;
  nodes: Uint32Array;
}

const INDEXES = new WeakMap<View, NodeIndex>();

function indexOf(view: View): NodeIndex {
  const groups = view.groups.groups.length;
  const begin = new Uint32Array(groups + 1);
  for (let i = 1; i < view.group.length; ++i) ++begin[view.group[i] + 1];
  for (let i = 0; i < groups; ++i) begin[i + 1] += begin[i];
  const next = begin.slice();
  const nodes = new Uint32Array(begin[groups]);
  for (let i = 1; i < view.group.length; ++i) nodes[next[view.group[i]]++] = i;
  return { begin, nodes };
}

/** Nodes of a group, in their order. Whoever asks first waits: the view is gone through once. */
export function nodesOf(view: View, group: number): Uint32Array {
  let index = INDEXES.get(view);
  if (index === undefined) {
    index = indexOf(view);
    INDEXES.set(view, index);
  }
  return index.nodes.subarray(index.begin[group], index.begin[group + 1]);
}

export function* stacksOf(view: View, parts: Parts, isSelected: Uint8Array | null): Generator<number> {
  const { stackBegin, end, stacks } = view;
  for (const node of parts.nodes) {
    const last = stackBegin[parts.isOwn ? node + 1 : end[node]];
    for (let i = stackBegin[node]; i < last; ++i) {
      if (isSelected === null || isSelected[stacks[i]] === 1) yield stacks[i];
    }
  }
}
