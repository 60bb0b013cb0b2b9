// SPDX-License-Identifier: Apache-2.0
// Looks at running processes, put together from what changes: docs/page-data.md describes the bytes,
// src/profile/page/page_stream.cc writes them.
import {
  type Block,
  FAMILIES,
  type Family,
  type Holdings,
  type Lifetimes,
  readFacts,
  readFrames,
  readHoldings,
  readKinds,
  readLabels,
  readSites,
  readTexts,
  TOTALS_COLUMNS,
} from "./block";
import { Bytes } from "./bytes";

/** Where what a stack holds stands. */
interface Held {
  holdings: Holdings;
  at: number;
}

type Column = Uint32Array | Float64Array | Int32Array;

function joined<T extends Column>(old: T, more: T): T {
  const all = new (old.constructor as new (size: number) => T)(old.length + more.length);
  all.set(old);
  all.set(more, old.length);
  return all;
}

/** Each column with what comes behind it; the same object where nothing does. */
function extended<T extends object>(old: T, more: T): T {
  const result = { ...old };
  let isLonger = false;
  for (const key of Object.keys(old) as (keyof T)[]) {
    const added = more[key] as Column;
    if (added.length === 0) continue;
    isLonger = true;
    result[key] = joined(old[key] as Column, added) as T[keyof T];
  }
  return isLonger ? result : old;
}

function expect(what: string, known: number, begins: number): void {
  if (known !== begins) throw new Error(`the server's ${what} begin at ${begins}, but ${known} are known`);
}

/** Joins what stacks hold, which stands in several places. */
function gather(held: Held[]): Holdings {
  const families: Family[] = [];
  const sizes: number[] = [];
  const numbers: number[] = [];
  const plain: number[] = [];
  for (let which = 0; which < FAMILIES; ++which) {
    const begin = new Uint32Array(held.length + 1);
    held.forEach(({ holdings, at }, stack) => {
      const own = holdings.families[which].begin;
      begin[stack + 1] = begin[stack] + own[at + 1] - own[at];
    });
    const count = begin[held.length];
    const family = { begin, kind: new Uint32Array(count), samples: new Float64Array(count), row: new Uint32Array(count) };
    held.forEach(({ holdings, at }, stack) => {
      const own = holdings.families[which];
      let to = begin[stack];
      for (let i = own.begin[at]; i < own.begin[at + 1]; ++i, ++to) {
        const row = own.row[i];
        family.kind[to] = own.kind[i];
        family.samples[to] = own.samples[i];
        if (own.kind[i] === 0) {
          family.row[to] = sizes.push(holdings.totals.size[row]) - 1;
          for (let j = 0; j < TOTALS_COLUMNS; ++j) numbers.push(holdings.totals.numbers[TOTALS_COLUMNS * row + j]);
        } else if (own.kind[i] === 1) {
          family.row[to] = plain.push(holdings.plain[2 * row], holdings.plain[2 * row + 1]) / 2 - 1;
        }
      }
    });
    families.push(family);
  }
  return {
    families,
    lifetimes: gatherLifetimes(held),
    totals: { size: Float64Array.from(sizes), numbers: Float64Array.from(numbers) },
    plain: Float64Array.from(plain),
  };
}

function gatherLifetimes(held: Held[]): Lifetimes {
  const begin = new Uint32Array(held.length + 1);
  held.forEach(({ holdings, at }, stack) => {
    const own = holdings.lifetimes.begin;
    begin[stack + 1] = begin[stack] + own[at + 1] - own[at];
  });
  const count = begin[held.length];
  const all = { begin, lifetimeClass: new Uint32Array(count), bytes: new Float64Array(count), blocks: new Float64Array(count) };
  held.forEach(({ holdings: { lifetimes }, at }, stack) => {
    const [from, to] = [lifetimes.begin[at], lifetimes.begin[at + 1]];
    all.lifetimeClass.set(lifetimes.lifetimeClass.subarray(from, to), begin[stack]);
    all.bytes.set(lifetimes.bytes.subarray(from, to), begin[stack]);
    all.blocks.set(lifetimes.blocks.subarray(from, to), begin[stack]);
  });
  return all;
}

const noColumn = () => new Uint32Array(0);

export class Stream {
  private texts: string[] = [];
  private frames: Block["frames"] = {
    name: noColumn(),
    shown: noColumn(),
    symbol: noColumn(),
    file: noColumn(),
    module: noColumn(),
    shownModule: noColumn(),
    path: noColumn(),
    package: noColumn(),
    line: noColumn(),
    flags: noColumn(),
  };
  private sites: Block["sites"] = { frame: noColumn(), role: noColumn() };
  private nodes: Block["nodes"] = { site: noColumn(), parent: new Int32Array(0), depth: noColumn() };
  private kinds: Block["kinds"] = { size: new Float64Array(0), rate: new Float64Array(0), share: noColumn() };
  private labels: Block["labels"] = { process: noColumn(), heap: noColumn(), flags: noColumn() };
  /** The same object until there are more stacks: until then names, frames and paths are the same, too. */
  private stacks: Block["stacks"] = { node: noColumn(), label: noColumn() };
  private held: Held[] = [];

  /** The next look. `isFirst`: it begins anew. Throws where something is missing in between. */
  take(data: Uint8Array, isFirst: boolean): Block {
    if (isFirst) Object.assign(this, new Stream());
    const bytes = new Bytes(data);
    const facts = readFacts(bytes);
    const known: [string, number][] = [
      ["texts", this.texts.length],
      ["frames", this.frames.name.length],
      ["sites", this.sites.frame.length],
      ["nodes", this.nodes.site.length],
      ["kinds", this.kinds.size.length],
      ["labels", this.labels.flags.length],
      ["stacks", this.stacks.node.length],
    ];
    for (const [what, count] of known) expect(what, count, bytes.varint());
    const texts = readTexts(bytes);
    if (texts.length > 0) this.texts = this.texts.concat(texts);
    this.frames = extended(this.frames, readFrames(bytes, bytes.varint()));
    this.sites = extended(this.sites, readSites(bytes));
    this.addNodes(bytes);
    this.kinds = extended(this.kinds, readKinds(bytes));
    this.labels = extended(this.labels, readLabels(bytes));
    const count = bytes.varint();
    this.stacks = extended(this.stacks, { node: bytes.column(count), label: bytes.column(count) });
    this.hold(bytes);
    const { frames, sites, nodes, kinds, labels, stacks } = this;
    return { facts, texts: this.texts, frames, sites, nodes, kinds, labels, stacks, ...gather(this.held) };
  }

  private addNodes(bytes: Bytes): void {
    const count = bytes.varint();
    const site = bytes.column(count);
    const steps = bytes.column(count);
    const from = this.nodes.site.length;
    const parent = Int32Array.from(steps, (step, i) => (step === 0 ? -1 : from + i - step));
    const nodes = extended(this.nodes, { site, parent, depth: new Uint32Array(count) });
    for (let i = from; i < from + count; ++i) {
      nodes.depth[i] = nodes.parent[i] < 0 ? 0 : nodes.depth[nodes.parent[i]] + 1;
    }
    this.nodes = nodes;
  }

  private hold(bytes: Bytes): void {
    const changed = bytes.column(bytes.varint());
    const holdings = readHoldings(bytes, changed.length);
    const held = this.held.slice();
    let stack = 0;
    changed.forEach((step, at) => {
      stack += step;
      held[stack] = { holdings, at };
    });
    for (let i = 0; i < this.stacks.node.length; ++i) {
      if (!(i in held)) throw new Error("a stack has no values");
    }
    this.held = held;
  }
}
