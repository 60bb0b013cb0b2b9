// SPDX-License-Identifier: Apache-2.0
// A tree of groups: made node by node, and then in preorder.

export interface Tree {
  /** Node 0 is the whole; nodes are in preorder. */
  group: Uint32Array;
  parent: Int32Array;
  depth: Uint32Array;
  /** Node i and what is below it: i to end[i]. */
  end: Uint32Array;
}

export function childrenOf(tree: Tree, node: number): number[] {
  const children: number[] = [];
  for (let child = node + 1; child < tree.end[node]; child = tree.end[child]) children.push(child);
  return children;
}

/** Numbers by pairs of numbers: open addressing, as a Map of half a million pairs takes a second. */
class PairIndex {
  private slots = new Int32Array(1 << 12).fill(-1);
  private readonly first: number[] = [];
  private readonly second: number[] = [];

  /** The number of the pair, which is that of `next` where it is new. */
  get(a: number, b: number, next: number): number {
    let slot = this.slotOf(a, b);
    for (; this.slots[slot] >= 0; slot = (slot + 1) & (this.slots.length - 1)) {
      const known = this.slots[slot];
      if (this.first[known] === a && this.second[known] === b) return known;
    }
    this.slots[slot] = next;
    this.first[next] = a;
    this.second[next] = b;
    if (3 * next > this.slots.length) this.grow();
    return next;
  }

  private slotOf(a: number, b: number): number {
    let hash = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b);
    hash ^= hash >>> 15;
    return Math.imul(hash, 0x2c1b3c6d) >>> 3 & (this.slots.length - 1);
  }

  private grow(): void {
    const count = this.first.length;
    this.slots = new Int32Array(2 * this.slots.length).fill(-1);
    for (let i = 0; i < count; ++i) {
      let slot = this.slotOf(this.first[i], this.second[i]);
      while (this.slots[slot] >= 0) slot = (slot + 1) & (this.slots.length - 1);
      this.slots[slot] = i;
    }
  }
}

/** A tree in the order of making: each node after its parent. */
export class TreeMaker {
  readonly group: number[] = [0];
  readonly parent: number[] = [-1];
  private readonly index = new PairIndex();

  constructor() {
    this.index.get(-1, 0, 0);
  }

  child(parent: number, group: number): number {
    const node = this.index.get(parent, group, this.group.length);
    if (node === this.group.length) {
      this.group.push(group);
      this.parent.push(parent);
    }
    return node;
  }

  /** The tree in preorder, and where each node as it was made is in it. */
  finish(): { tree: Tree; place: Uint32Array } {
    const count = this.group.length;
    const size = new Uint32Array(count).fill(1);
    for (let i = count - 1; i > 0; --i) size[this.parent[i]] += size[i];
    const place = new Uint32Array(count);
    const next = new Uint32Array(count); // where the next child goes
    next[0] = 1;
    const tree: Tree = {
      group: new Uint32Array(count),
      parent: new Int32Array(count),
      depth: new Uint32Array(count),
      end: new Uint32Array(count),
    };
    tree.parent[0] = -1;
    tree.end[0] = count;
    for (let i = 1; i < count; ++i) {
      const parent = this.parent[i];
      const at = next[parent];
      next[parent] += size[i];
      place[i] = at;
      next[i] = at + 1;
      tree.group[at] = this.group[i];
      tree.parent[at] = place[parent];
      tree.depth[at] = tree.depth[place[parent]] + 1;
      tree.end[at] = at + size[i];
    }
    return { tree, place };
  }
}
