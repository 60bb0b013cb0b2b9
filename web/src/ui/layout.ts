// SPDX-License-Identifier: Apache-2.0
// Which rectangles an icicle graph has: the path to the node that is looked at, and what is below it, heaviest
// first. What is too narrow to be seen is one rectangle for all of its siblings.
import { childrenOf, type Tree } from "../model/tree";

export interface Box {
  /** -1: several nodes that are too narrow. */
  node: number;
  /** Of those: how many, below which node, and what they hold. */
  count: number;
  parent: number;
  weight: number;
  x: number; // 0 to 1
  width: number;
  row: number;
}

export interface Layout {
  boxes: Box[];
  rows: number;
}

export function heaviestFirst(tree: Tree, weight: Float64Array, node: number): number[] {
  return childrenOf(tree, node)
    .filter((child) => weight[child] > 0)
    .sort((a, b) => weight[b] - weight[a] || a - b);
}

/** `narrowest`: the smallest width that is drawn, of 1. */
export function layOut(tree: Tree, weight: Float64Array, node: number, narrowest: number): Layout {
  const boxes: Box[] = [];
  const path: number[] = [];
  for (let i = node; i >= 0; i = tree.parent[i]) path.unshift(i);
  const one = (at: number, x: number, width: number, row: number): Box => {
    return { node: at, count: 1, parent: tree.parent[at], weight: weight[at], x, width, row };
  };
  path.forEach((at, row) => boxes.push(one(at, 0, 1, row)));
  const whole = weight[node];
  let rows = path.length;
  const open: Box[] = whole > 0 ? [boxes[boxes.length - 1]] : [];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    let x = next.x;
    const row = next.row + 1;
    const children = heaviestFirst(tree, weight, next.node);
    for (let i = 0; i < children.length; ++i) {
      const width = weight[children[i]] / whole;
      if (width < narrowest) {
        let rest = 0;
        for (let j = i; j < children.length; ++j) rest += weight[children[j]];
        const box: Box = {
          node: -1,
          count: children.length - i,
          parent: next.node,
          weight: rest,
          x,
          width: rest / whole,
          row,
        };
        if (box.width >= narrowest) {
          boxes.push(box);
          rows = Math.max(rows, row + 1);
        }
        break;
      }
      const box = one(children[i], x, width, row);
      boxes.push(box);
      open.push(box);
      rows = Math.max(rows, row + 1);
      x += width;
    }
  }
  return { boxes, rows };
}

export function boxAt(layout: Layout, x: number, row: number): Box | undefined {
  return layout.boxes.find((box) => box.row === row && x >= box.x && x < box.x + box.width);
}
