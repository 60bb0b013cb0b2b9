// SPDX-License-Identifier: Apache-2.0
// Which thread allocated: a profile does not say, but what a thread began with does, in most programs: main(), a
// worker's function, the target of a threading.Thread.
import { type Block, IS_INTERPRETER, LABEL_IS_CUT, ROLE_MASK, Role } from "../data/block";
import type { View } from "./view";

export const UNKNOWN_THREAD = -1;
export const MAIN_THREAD = -2;

/** Symbols below which a process has its first thread. */
const MAIN = /^(_start|main|__libc_start_main(@.*)?|__libc_start_call_main|_dl_start_user|_dl_init)$/;
/** Python's own functions, which begin every one of its threads. */
const BEGINS_THREADS = /(^|\/)(threading|concurrent\/futures\/thread|multiprocessing\/pool)\.py$/;

/** Of each stack where its thread began: a frame, the outermost that is neither a library's nor an interpreter's; or one of the above. */
export function beginnings(block: Block): Int32Array {
  const { nodes, sites, stacks, labels, frames, texts } = block;
  const isOf = (expression: RegExp, column: Uint32Array) => {
    const matches = texts.map((text) => expression.test(text));
    return (frame: number) => matches[column[frame]];
  };
  const isMain = isOf(MAIN, frames.symbol);
  const isMachinery = isOf(BEGINS_THREADS, frames.file);
  const began = new Int32Array(nodes.site.length); // of each node, by the one above it
  for (let i = 0; i < began.length; ++i) {
    const above = nodes.parent[i] < 0 ? UNKNOWN_THREAD : began[nodes.parent[i]];
    const role = sites.role[nodes.site[i]];
    const frame = sites.frame[nodes.site[i]];
    const isOwn = (role & ROLE_MASK) === Role.own && (role & IS_INTERPRETER) === 0 && !isMachinery(frame);
    began[i] = above !== UNKNOWN_THREAD ? above : isMain(frame) ? MAIN_THREAD : isOwn ? frame : UNKNOWN_THREAD;
  }
  return Int32Array.from(stacks.node, (node, stack) => {
    const isCut = (labels.flags[stacks.label[stack]] & LABEL_IS_CUT) !== 0;
    return isCut ? UNKNOWN_THREAD : began[node];
  });
}

/** Of each node of a view where the threads of all its stacks began; null: it is not known, or they differ. `keyOf`: of a frame. */
export function threadsOfNodes(block: Block, view: View, keyOf: (frame: number) => string): (string | null)[] {
  const threads = new Array<string | null | undefined>(view.group.length).fill(undefined);
  const enter = (node: number, thread: string | null) => {
    threads[node] = threads[node] === undefined || threads[node] === thread ? thread : null;
  };
  const textOf = (began: number) => (began === MAIN_THREAD ? "main" : began < 0 ? null : keyOf(began));
  beginnings(block).forEach((began, stack) => enter(view.ofStack[stack], textOf(began)));
  for (let i = view.group.length - 1; i > 0; --i) {
    const own = threads[i];
    if (own !== undefined) enter(view.parent[i], own);
  }
  return threads.map((thread) => thread ?? null);
}
