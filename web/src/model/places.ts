// SPDX-License-Identifier: Apache-2.0
// Numbers for nodes and groups that outlive a view: of a page that is live, there is a new one with each look that
// has new stacks. What is in the page's address, and what the reader points at, are such numbers.
import { childrenOf } from "./tree";
import type { View } from "./view";

export interface Places {
  /** -1: the view does not have it. */
  nodeOf: (view: View, place: number) => number;
  ofNode: (view: View, node: number) => number;
  groupOf: (view: View, place: number) => number;
  ofGroup: (view: View, group: number) => number;
}

/** Of a page that stays as it is: the numbers themselves. */
export const FIXED: Places = {
  nodeOf: (view, place) => (place < view.group.length ? place : -1),
  ofNode: (_view, node) => node,
  groupOf: (view, place) => (place < view.groups.groups.length ? place : -1),
  ofGroup: (_view, group) => group,
};

function keyOf(view: View, group: number): string {
  const { name, file, line, module, isMadeUp } = view.groups.groups[group];
  // A function is the same one when it is seen at another line.
  return [name, file, view.options.by === "line" ? line : "", module, isMadeUp].join("\0");
}

export class MovingPlaces implements Places {
  private readonly numbers = new Map<string, number>();
  private readonly paths: string[][] = [];

  /** `first`: the first number; those of an earlier visit to the page mean nothing. */
  constructor(private readonly first: number) {}

  nodeOf(view: View, place: number): number {
    if (place === 0) return 0;
    const path = this.pathOf(place);
    if (path === null) return -1;
    let node = 0;
    for (const key of path) {
      const next = childrenOf(view, node).find((child) => keyOf(view, view.group[child]) === key);
      if (next === undefined) return -1;
      node = next;
    }
    return node;
  }

  ofNode(view: View, node: number): number {
    const path: string[] = [];
    for (let i = node; i > 0; i = view.parent[i]) path.unshift(keyOf(view, view.group[i]));
    return path.length === 0 ? 0 : this.numberOf(path);
  }

  groupOf(view: View, place: number): number {
    const key = this.pathOf(place)?.[0];
    return key === undefined ? -1 : view.groups.groups.findIndex((_group, i) => keyOf(view, i) === key);
  }

  ofGroup(view: View, group: number): number {
    return this.numberOf([keyOf(view, group)]);
  }

  private pathOf(place: number): string[] | null {
    const at = place - this.first;
    return at >= 0 && at < this.paths.length ? this.paths[at] : null;
  }

  private numberOf(path: string[]): number {
    const key = path.join("\x01");
    let number = this.numbers.get(key);
    if (number === undefined) {
      number = this.first + this.paths.push(path) - 1;
      this.numbers.set(key, number);
    }
    return number;
  }
}
