// SPDX-License-Identifier: Apache-2.0
// Chooses stacks by expressions, as --focus and --ignore do (src/profile/matching/stack_filter.cc), and finds groups.
import { type Block, IS_NAMED, NAME_IS_ALLOCATOR, SYMBOL_IS_ALLOCATOR } from "../data/block";

/** RE2's `(?i)` at the start is known; throws a SyntaxError for what is no expression. */
export function parseExpression(text: string): RegExp {
  const flags = /^\(\?([is]+)\)/.exec(text);
  const body = flags ? text.slice(flags[0].length) : text;
  const letters = flags ? [...new Set(flags[1])].join("") : "";
  try {
    return new RegExp(body, `u${letters}`);
  } catch {
    return new RegExp(body, letters); // RE2 allows `\-` and the like
  }
}

/** For each text of the block, whether the expression is in it. */
function matchingTexts(block: Block, expression: RegExp): Uint8Array {
  return Uint8Array.from(block.texts, (text) => (text !== "" && expression.test(text) ? 1 : 0));
}

/** For each frame, whether it matches where it counts: what allocates is on every stack. */
function matchingFrames(block: Block, isMatch: Uint8Array): Uint8Array {
  const { name, shown, symbol, file, path, flags } = block.frames;
  return Uint8Array.from(name, (text, frame) => {
    if (isMatch[path[frame]] === 1) return 1;
    const own = flags[frame];
    if ((own & SYMBOL_IS_ALLOCATOR) === 0 && isMatch[symbol[frame]] === 1) return 1;
    if ((own & NAME_IS_ALLOCATOR) !== 0) return 0;
    if (isMatch[text] === 1 || isMatch[file[frame]] === 1) return 1;
    return (own & IS_NAMED) !== 0 && isMatch[shown[frame]] === 1 ? 1 : 0;
  });
}

/** For each stack, whether a frame of it, its heap or its process matches. */
export function matchingStacks(block: Block, expression: RegExp): Uint8Array {
  const isText = matchingTexts(block, expression);
  const isFrame = matchingFrames(block, isText);
  const { site, parent } = block.nodes;
  const { frame: frameOf } = block.sites;
  const isNode = new Uint8Array(site.length);
  for (let i = 0; i < site.length; ++i) {
    isNode[i] = isFrame[frameOf[site[i]]] === 1 || (parent[i] >= 0 && isNode[parent[i]] === 1) ? 1 : 0;
  }
  const isLabel = Uint8Array.from(block.labels.heap, (heap, i) =>
    isText[heap] === 1 || isText[block.labels.process[i]] === 1 ? 1 : 0,
  );
  return Uint8Array.from(block.stacks.node, (leaf, stack) => {
    if (isLabel[block.stacks.label[stack]] === 1) return 1;
    let node = leaf;
    while (node >= 0 && (block.frames.flags[frameOf[site[node]]] & NAME_IS_ALLOCATOR) !== 0) node = parent[node];
    return node >= 0 && isNode[node] === 1 ? 1 : 0;
  });
}

export interface Selection {
  focus: string;
  ignore: string;
  process: string; // empty: all
  heap: string;
}

/** For each stack, whether it stays; null: all do. Throws a SyntaxError for what is no expression. */
export function selectStacks(block: Block, selection: Selection): Uint8Array | null {
  if (Object.values(selection).every((text) => text === "")) return null;
  const isIn = selection.focus === "" ? null : matchingStacks(block, parseExpression(selection.focus));
  const isOut = selection.ignore === "" ? null : matchingStacks(block, parseExpression(selection.ignore));
  const { process, heap } = block.labels;
  const isLabel = Uint8Array.from(process, (text, i) =>
    (selection.process === "" || block.texts[text] === selection.process) &&
    (selection.heap === "" || block.texts[heap[i]] === selection.heap)
      ? 1
      : 0,
  );
  return Uint8Array.from(block.stacks.label, (label, stack) =>
    (isIn === null || isIn[stack] === 1) && (isOut === null || isOut[stack] === 0) ? isLabel[label] : 0,
  );
}
