// SPDX-License-Identifier: Apache-2.0
// What a reader sees of the stacks: frames that are left out, the others as groups, and these as a tree.
// The rules are those of FrameGrouping in src/profile/names/frame_grouping.cc.
import { type Block, CALLS_START, IS_INTERPRETER, LABEL_IS_CUT, ROLE_MASK, Role } from "../data/block";
import { DEFAULT_LABEL, type GroupBy, Groups } from "./grouping";
import { Imports } from "./imports";
import { beginnings, MAIN_THREAD } from "./threads";
import { type Tree, TreeMaker } from "./tree";

export interface Hidden {
  interpreter: boolean;
  /** Native code that lines of a language's runtime call; so does `interpreter`. */
  native: boolean;
  imports: boolean;
  /** What importing a package takes is one group, and what starting Python takes. */
  packages: boolean;
  library: boolean;
  start: boolean;
}
export interface ViewOptions {
  by: GroupBy;
  hidden: Hidden;
  fullNames: boolean;
}

export interface View extends Tree {
  options: ViewOptions;
  groups: Groups;
  /** Whether no node above is of the same group. */
  isOutermost: Uint8Array;
  /** The node at which each stack ends. */
  ofStack: Uint32Array;
  /** Stacks in the order of their nodes: those of node i are stacks[stackBegin[i]] to stackBegin[i + 1]. */
  stacks: Uint32Array;
  stackBegin: Uint32Array;
}

export const WHOLE = "whole profile";

/** A package is no line of these. */
const HAS_PLACES: readonly GroupBy[] = ["function", "line", "file"];

/** Whether what Python takes for its start is one group. */
function foldsStart({ by, hidden }: ViewOptions): boolean {
  return hidden.packages && hidden.interpreter && HAS_PLACES.includes(by);
}

/** Library frames from the root down to the first that is none: what runs before main. */
function startNodes(block: Block): Uint8Array {
  const { site, parent } = block.nodes;
  const isStart = new Uint8Array(site.length);
  for (let i = 0; i < site.length; ++i) {
    const isLibrary = (block.sites.role[site[i]] & ROLE_MASK) === Role.library;
    isStart[i] = isLibrary && (parent[i] < 0 || isStart[parent[i]] === 1) ? 1 : 0;
  }
  return isStart;
}

/** Numbers one behind the other: an Array that is emptied gives its memory back, and takes time to get it anew. */
class List {
  readonly items: Int32Array;
  length = 0;

  constructor(most: number) {
    this.items = new Int32Array(most);
  }
  push(item: number): void {
    this.items[this.length++] = item;
  }
}

function deepest(block: Block): number {
  return block.nodes.depth.reduce((most, depth) => Math.max(most, depth + 1), 1);
}

/** The frames of a stack that are seen, as groups and leaf first. */
class Folding {
  private readonly isStart: Uint8Array;
  private readonly group: Int32Array; // of each site
  private readonly foldsStart: boolean;
  private readonly all: List;
  private readonly own: List;

  constructor(
    private readonly block: Block,
    private readonly options: ViewOptions,
    groups: Groups,
  ) {
    this.isStart = startNodes(block);
    this.foldsStart = foldsStart(options);
    this.group = Int32Array.from(block.sites.frame, (frame) => groups.ofFrame[frame]);
    this.all = new List(deepest(block) + 1);
    this.own = new List(deepest(block) + 1);
  }

  groupsOf(leaf: number): List {
    const { sites, nodes } = this.block;
    const { hidden } = this.options;
    const { all, own } = this;
    all.length = own.length = 0;
    let allocation = -1;
    for (let node = leaf; node >= 0; node = nodes.parent[node]) {
      const site = nodes.site[node];
      const role = sites.role[site] & ROLE_MASK;
      const isInterpreter = (sites.role[site] & IS_INTERPRETER) !== 0;
      if (isInterpreter && hidden.interpreter) continue;
      const group = this.group[site];
      if (all.length === 0 && role === Role.allocation) {
        allocation = group;
        continue;
      }
      // Who called what stands before a gap is not known.
      if (role === Role.gap && own.length === 0) {
        own.items.set(all.items.subarray(0, all.length));
        own.length = all.length;
      }
      all.push(group);
      if (isInterpreter || !this.isFolded(role, node, own.length === 0)) own.push(group);
    }
    if (own.length > 0) return own;
    if (all.length === 0) all.push(allocation);
    return all;
  }

  /**
   * The innermost frame of the stack that is seen, from which on outwards it does not matter what is below: all that
   * is not left out by itself is seen. -1: there is none, or who called it is not known, and groupsOf() says what is.
   */
  innermost(leaf: number): number {
    const { sites, nodes } = this.block;
    let isAtLeaf = true;
    for (let node = leaf; node >= 0; node = nodes.parent[node]) {
      const role = sites.role[nodes.site[node]] & ROLE_MASK;
      const isInterpreter = (sites.role[nodes.site[node]] & IS_INTERPRETER) !== 0;
      if ((isInterpreter && this.options.hidden.interpreter) || (isAtLeaf && role === Role.allocation)) continue;
      if (role === Role.gap) return -1;
      isAtLeaf = false;
      if (isInterpreter || !this.isFolded(role, node, true)) return node;
    }
    return -1;
  }

  /** Of a frame that another one is seen below: its group, or -1. */
  groupAbove(node: number): number {
    const { sites, nodes } = this.block;
    const site = nodes.site[node];
    if (this.foldsStart && (sites.role[site] & CALLS_START) !== 0) return -1;
    if ((sites.role[site] & IS_INTERPRETER) !== 0) return this.options.hidden.interpreter ? -1 : this.group[site];
    return this.isFolded(sites.role[site] & ROLE_MASK, node, false) ? -1 : this.group[site];
  }

  private isFolded(role: number, node: number, isLeaf: boolean): boolean {
    const { hidden, by } = this.options;
    switch (role) {
      case Role.allocation:
      case Role.wrapper:
        return hidden.library && isLeaf;
      case Role.library:
        return this.isStart[node] === 1 ? hidden.start : hidden.library;
      case Role.import:
        return hidden.imports;
      case Role.nameless: // its module has a name
        return hidden.library && by !== "module" && by !== "package";
      case Role.called:
        return hidden.native && hidden.interpreter && by !== "module" && by !== "package";
      default:
        return false;
    }
  }
}

/** What stands above the frames of each label: its process, its heap, that the stack was cut. */
function labelGroups(block: Block, options: ViewOptions, groups: Groups): number[][] {
  const { labels, texts } = block;
  const result: number[][] = [];
  for (let i = 0; i < labels.process.length; ++i) {
    const process = texts[labels.process[i]];
    const heap = texts[labels.heap[i]];
    const own: number[] = [];
    if (options.by === "process" || options.by === "heap") {
      own.push(groups.madeUp((options.by === "process" ? process : heap) || DEFAULT_LABEL, options.by));
    } else {
      if (process !== "") own.push(groups.madeUp(`[process ${process}]`, "process"));
      if (heap !== "") own.push(groups.madeUp(`[heap ${heap}]`, "heap"));
      if ((labels.flags[i] & LABEL_IS_CUT) !== 0) own.push(groups.madeUp("[stack cut]"));
    }
    result.push(own);
  }
  return result;
}

function outermostNodes(tree: Tree, groupCount: number): Uint8Array {
  const count = tree.group.length;
  const isOutermost = new Uint8Array(count);
  const lastEnd = new Uint32Array(groupCount); // of the last outermost node of each group
  for (let i = 1; i < count; ++i) {
    if (i < lastEnd[tree.group[i]]) continue;
    isOutermost[i] = 1;
    lastEnd[tree.group[i]] = tree.end[i];
  }
  return isOutermost;
}

/** The nodes at which stacks end, as they are made. */
class Ends {
  private readonly folding: Folding;
  private readonly imports: Imports | null;
  private readonly starts: Imports | null;
  /** By node of the block: the node of the view, under the label; -1: not known yet. */
  private readonly known: Int32Array;
  private readonly open: List;
  private top = 0; // node of the label

  constructor(
    private readonly block: Block,
    options: ViewOptions,
    private readonly groups: Groups,
    private readonly maker: TreeMaker,
  ) {
    this.folding = new Folding(block, options, groups);
    this.imports = options.hidden.packages && HAS_PLACES.includes(options.by) ? new Imports(block) : null;
    this.starts = foldsStart(options) ? this.imports : null;
    this.known = new Int32Array(block.nodes.site.length);
    this.open = new List(deepest(block));
  }

  begin(label: number[]): number {
    this.known.fill(-1);
    this.top = label.reduce((node, group) => this.below(node, group), 0);
    return this.top;
  }

  of(leaf: number): number {
    const start = this.starts === null ? -1 : this.starts.startOf(leaf);
    if (start >= 0) return this.below(this.above(this.block.nodes.parent[start]), this.groups.startingPython());
    const innermost = this.folding.innermost(leaf);
    if (innermost >= 0) {
      const first = this.imports === null ? -1 : this.imports.of(innermost);
      return first < 0 ? this.above(innermost) : this.importing(first);
    }
    const frames = this.folding.groupsOf(leaf);
    let node = this.top;
    for (let i = frames.length - 1; i >= 0; --i) node = this.below(node, frames.items[i]);
    return node;
  }

  private importing(first: number): number {
    const { nodes, sites, frames, texts } = this.block;
    const frame = sites.frame[nodes.site[first]];
    return this.below(this.above(nodes.parent[first]), this.groups.importing(texts[frames.package[frame]], frame));
  }

  private above(innermost: number): number {
    const { known, open } = this;
    const { parent } = this.block.nodes;
    open.length = 0;
    let node = innermost;
    for (; node >= 0 && known[node] < 0; node = parent[node]) open.push(node);
    let end = node < 0 ? this.top : known[node];
    while (open.length > 0) {
      const next = open.items[--open.length];
      const group = this.folding.groupAbove(next);
      if (group >= 0) end = this.below(end, group);
      known[next] = end;
    }
    return end;
  }

  /** A function that calls itself is one node. */
  private below(node: number, group: number): number {
    return node > 0 && this.maker.group[node] === group ? node : this.maker.child(node, group);
  }
}

/** Stacks label by label, and in their order within each. */
function byLabel(block: Block): number[][] {
  const stacks: number[][] = Array.from(block.labels.process, () => []);
  block.stacks.label.forEach((label, stack) => stacks[label].push(stack));
  return stacks;
}

export function makeView(block: Block, options: ViewOptions): View {
  const groups = new Groups(block, options.by, options.fullNames);
  const prefixes = labelGroups(block, options, groups);
  const onlyLabels = options.by === "process" || options.by === "heap";
  const maker = new TreeMaker();
  const ends = new Ends(block, options, groups, maker);
  const { node: leaves } = block.stacks;
  const count = leaves.length;
  const made = new Uint32Array(count);
  const threads = options.by === "thread" ? beginnings(block) : null;
  const threadGroup = (began: number) =>
    began >= 0 ? groups.ofFrame[began] : groups.madeUp(began === MAIN_THREAD ? "[main thread]" : "[unknown thread]");
  byLabel(block).forEach((stacks, label) => {
    const top = ends.begin(prefixes[label]);
    for (const stack of stacks) {
      if (threads !== null) made[stack] = maker.child(top, threadGroup(threads[stack]));
      else made[stack] = onlyLabels ? top : ends.of(leaves[stack]);
    }
  });
  const { tree, place } = maker.finish();
  const nodes = tree.group.length;
  const ofStack = made.map((node) => place[node]);
  const stackBegin = new Uint32Array(nodes + 1);
  for (const node of ofStack) ++stackBegin[node + 1];
  for (let i = 0; i < nodes; ++i) stackBegin[i + 1] += stackBegin[i];
  const next = stackBegin.slice();
  const stacks = new Uint32Array(count);
  for (let stack = 0; stack < count; ++stack) stacks[next[ofStack[stack]]++] = stack;
  return {
    ...tree,
    options,
    groups,
    isOutermost: outermostNodes(tree, groups.groups.length),
    ofStack,
    stacks,
    stackBegin,
  };
}
