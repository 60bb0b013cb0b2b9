// SPDX-License-Identifier: Apache-2.0
// What the lines of a function hold, of the stacks at a node and below.
import { type Block, ROLE_MASK, Role } from "../data/block";
import type { View } from "./view";

export interface HeldLine {
  line: number;
  /** Of stacks that end in the function, by the innermost of its lines. */
  self: number;
  /** Of all stacks through the line, each once. */
  total: number;
}

/** By line, ascending; those of unknown lines are left out. `value`: by stack. */
export function linesOf(block: Block, view: View, value: Float64Array, stacks: number[], group: number): HeldLine[] {
  const { nodes, sites, frames } = block;
  const lines = new Map<number, HeldLine>();
  for (const stack of stacks) {
    const seen = new Set<number>();
    let isAtLeaf = true; // where allocation functions are no frames of any view
    for (let node = block.stacks.node[stack]; node >= 0; node = nodes.parent[node]) {
      const frame = sites.frame[nodes.site[node]];
      isAtLeaf = isAtLeaf && (sites.role[nodes.site[node]] & ROLE_MASK) === Role.allocation;
      if (isAtLeaf) continue;
      const line = frames.line[frame];
      if (view.groups.ofFrame[frame] !== group || line === 0 || seen.has(line)) continue;
      const held = lines.get(line) ?? { line, self: 0, total: 0 };
      lines.set(line, held);
      held.total += value[stack];
      if (seen.size === 0 && view.group[view.ofStack[stack]] === group) held.self += value[stack];
      seen.add(line);
    }
  }
  return [...lines.values()].filter((held) => held.total !== 0).sort((a, b) => a.line - b.line);
}
