// SPDX-License-Identifier: Apache-2.0
// The data block as arrays: docs/page-data.md describes its bytes, src/profile/page/page_data.cc writes them.
import { Bytes } from "./bytes";

export const METRICS = [
  "alloc_objects",
  "alloc_space",
  "inuse_objects",
  "inuse_space",
  "peak_objects",
  "peak_space",
  "mapped_objects",
  "mapped_space",
  "mapped_resident_objects",
  "mapped_resident_space",
  "temporary_objects",
  "temporary_space",
  "inuse_resident_objects",
  "inuse_resident_space",
  "js_space",
  // Of a live page, computed here: what was allocated in a second.
  "rate_objects",
  "rate_space",
] as const;
export type Metric = (typeof METRICS)[number];

/** What memprof found significant between two profiles, by metric. */
export interface ChangeRow {
  name: string;
  file: string;
  module: string;
  low: number | null;
  high: number | null;
}
export interface Changes {
  is_tested: boolean;
  /** Those that are more than chance, or where nothing is known of chance all that differ. */
  rows: ChangeRow[];
}

export interface Side {
  program: string;
  pid: number;
  rate: number;
  samples: number;
  stacks: number;
  dropped: number;
}

/** What there was over time: columns of the same length, by time. 0: not known. */
export interface Timeline {
  seconds: number[]; // from the first look on
  live?: number[];
  resident?: number[];
  /** Until then. */
  allocated?: number[];
}

/** Of a page that its server tells what changes. */
export interface Live {
  /** Addresses, from the page's own. */
  events: string;
  profile: string;
  /** From the first look to this one. */
  seconds: number;
  /** In memory; 0: not known. */
  resident: number;
  /** Of several processes: which. */
  who: string;
  /** The file that looks are recorded to; empty: none. */
  recording: string;
  /** What the address of a part of the time begins with. */
  between: string;
  timeline?: Timeline;
}

/** Of a file; lines by their numbers. */
export interface SourceText {
  /** Than the profile. */
  is_newer: boolean;
  lines: Record<string, string>;
}

/** Of the table: made in src/profile/report/report_columns.cc. */
export interface PageColumn {
  title: string;
  /** Over it in a difference. */
  change_title: string;
  sums: "self" | "total";
  shape: "number" | "percent" | "margin";
  of: ColumnTerm;
  /** What it is divided by. */
  per: ColumnTerm;
}
export type ColumnTerm = "" | "metric" | "bytes" | "blocks" | "whole";

export interface Facts {
  version: number;
  title: string;
  lines: string[];
  sides: Side[];
  metrics: Metric[];
  metric: Metric;
  columns: PageColumn[];
  has_intervals: boolean;
  unlisted_bytes: number;
  /** Blocks that were freed within it are temporary. */
  temporary_ns: number;
  changes: Partial<Record<Metric, Changes>>;
  live?: Live;
  /** By path: what the page carries. */
  sources?: Record<string, SourceText>;
  /** What the address of a source file begins with, of a page that has a server. */
  source_address?: string;
}

export interface Frames {
  name: Uint32Array; // these are indices of texts
  shown: Uint32Array;
  symbol: Uint32Array;
  file: Uint32Array;
  module: Uint32Array;
  shownModule: Uint32Array;
  path: Uint32Array;
  /** That code of Python is installed with; the empty text: none, or it is not known. */
  package: Uint32Array;
  line: Uint32Array;
  flags: Uint32Array;
}

export const NAME_IS_ALLOCATOR = 1;
export const SYMBOL_IS_ALLOCATOR = 2;
export const IS_NAMED = 4;
export const IS_EXECUTED = 8;
/** Of code of Python: its package is known, or it is the program's own. */
export const PACKAGE_IS_KNOWN = 16;

/** Of a site. The numbers are those of FrameRole in src/profile/names/frame_role.h. */
export const Role = {
  own: 0,
  allocation: 1,
  wrapper: 2,
  library: 3,
  import: 4,
  nameless: 5,
  gap: 6,
  /** Native code with a name that a line of a language's runtime called: no FrameRole, but kCalledRole of page_frames.h. */
  called: 7,
} as const;
export const ROLE_MASK = 7;
export const IS_INTERPRETER = 8;
/** A function in which Python starts, called by no line of Python. */
export const STARTS_INTERPRETER = 16;
/** A function of the interpreter that called that. */
export const CALLS_START = 32;

export const LABEL_IS_CUT = 1;
export const LABEL_IS_AFTER = 2;

/**
 * Live blocks, all that were allocated, those at the peak, mappings, what of these is resident, what was freed soon, what of
 * live blocks is resident, the runtime's own heap.
 */
export const FAMILIES = 8;
/** What was allocated in a second: a block that is live has it behind the others. */
export const RATE_FAMILY = FAMILIES;
export const VERSION = 5;
export const KIND_TOTALS = 0;
export const KIND_PLAIN = 1;
export const FIRST_KIND = 2;
export const TOTALS_COLUMNS = 6;

export interface Family {
  /** Entries of a stack: begin[stack] to begin[stack + 1]. */
  begin: Uint32Array;
  kind: Uint32Array;
  samples: Float64Array;
  /** Row of `totals` or `plain`, for entries of those kinds. */
  row: Uint32Array;
}

export interface Block extends Holdings {
  facts: Facts;
  texts: string[];
  frames: Frames;
  sites: { frame: Uint32Array; role: Uint32Array };
  /** Each after the one above it; of a file in preorder. */
  nodes: { site: Uint32Array; parent: Int32Array; depth: Uint32Array };
  kinds: { size: Float64Array; rate: Float64Array; share: Uint32Array };
  labels: { process: Uint32Array; heap: Uint32Array; flags: Uint32Array };
  stacks: { node: Uint32Array; label: Uint32Array };
}

/** What was freed, by how long it had lived: LIFETIME_BOUNDS. */
export interface Lifetimes {
  /** Entries of a stack: begin[stack] to begin[stack + 1]. */
  begin: Uint32Array;
  lifetimeClass: Uint32Array;
  bytes: Float64Array;
  blocks: Float64Array;
}

/** What some stacks hold. */
export interface Holdings {
  families: Family[];
  lifetimes: Lifetimes;
  totals: { size: Float64Array; numbers: Float64Array };
  plain: Float64Array; // bytes and blocks by turns
}

export function readFrames(bytes: Bytes, count: number): Frames {
  return {
    name: bytes.column(count),
    shown: bytes.column(count),
    symbol: bytes.column(count),
    file: bytes.column(count),
    module: bytes.column(count),
    shownModule: bytes.column(count),
    path: bytes.column(count),
    package: bytes.column(count),
    line: bytes.column(count),
    flags: bytes.column(count),
  };
}

function readNodes(bytes: Bytes): Block["nodes"] {
  const count = bytes.varint();
  const site = bytes.column(count);
  const up = bytes.column(count);
  const parent = new Int32Array(count);
  const depth = new Uint32Array(count);
  const path: number[] = [];
  for (let i = 0; i < count; ++i) {
    path.length -= up[i];
    depth[i] = path.length;
    parent[i] = path.length === 0 ? -1 : path[path.length - 1];
    path.push(i);
  }
  return { site, parent, depth };
}

function readFamilies(bytes: Bytes, stacks: number): Family[] {
  const families: Family[] = [];
  for (let i = 0; i < FAMILIES; ++i) {
    const begin = new Uint32Array(stacks + 1);
    for (let stack = 0; stack < stacks; ++stack) begin[stack + 1] = begin[stack] + bytes.varint();
    const entries = begin[stacks];
    families.push({
      begin,
      kind: bytes.column(entries),
      samples: bytes.wideColumn(entries),
      row: new Uint32Array(entries),
    });
  }
  return families;
}

/** Rows of totals and plain values stand in the order of stacks, and of families within a stack. */
function numberRows(families: Family[], stacks: number): { totals: number; plain: number } {
  let totals = 0;
  let plain = 0;
  for (let stack = 0; stack < stacks; ++stack) {
    for (const family of families) {
      for (let i = family.begin[stack]; i < family.begin[stack + 1]; ++i) {
        if (family.kind[i] === KIND_TOTALS) family.row[i] = totals++;
        if (family.kind[i] === KIND_PLAIN) family.row[i] = plain++;
      }
    }
  }
  return { totals, plain };
}

function readLifetimes(bytes: Bytes, stacks: number): Lifetimes {
  const begin = new Uint32Array(stacks + 1);
  for (let stack = 0; stack < stacks; ++stack) begin[stack + 1] = begin[stack] + bytes.varint();
  const count = begin[stacks];
  const lifetimes = { begin, lifetimeClass: new Uint32Array(count), bytes: new Float64Array(count), blocks: new Float64Array(count) };
  for (let stack = 0; stack < stacks; ++stack) {
    for (const column of [lifetimes.lifetimeClass, lifetimes.bytes, lifetimes.blocks]) {
      for (let i = begin[stack]; i < begin[stack + 1]; ++i) column[i] = bytes.varint();
    }
  }
  return lifetimes;
}

export function readHoldings(bytes: Bytes, stacks: number): Holdings {
  const families = readFamilies(bytes, stacks);
  const rows = numberRows(families, stacks);
  const totals = {
    size: new Float64Array(rows.totals),
    numbers: new Float64Array(rows.totals * TOTALS_COLUMNS),
  };
  for (let i = 0; i < rows.totals; ++i) {
    totals.size[i] = bytes.varint();
    for (let j = 0; j < TOTALS_COLUMNS; ++j) totals.numbers[TOTALS_COLUMNS * i + j] = bytes.real();
  }
  const plain = new Float64Array(2 * rows.plain);
  for (let i = 0; i < plain.length; ++i) plain[i] = bytes.real();
  const lifetimes = readLifetimes(bytes, stacks);
  if (!bytes.isAtEnd) throw new Error("the data block is longer than it says");
  return { families, lifetimes, totals, plain };
}

export function readFacts(bytes: Bytes): Facts {
  const facts = JSON.parse(bytes.text()) as Facts;
  if (facts.version !== VERSION) throw new Error(`this page does not know version ${facts.version} of its data`);
  return facts;
}

export function readSites(bytes: Bytes): Block["sites"] {
  const count = bytes.varint();
  return { frame: bytes.column(count), role: bytes.column(count) };
}

export function readKinds(bytes: Bytes): Block["kinds"] {
  const count = bytes.varint();
  return { size: bytes.wideColumn(count), rate: bytes.wideColumn(count), share: bytes.column(count) };
}

export function readLabels(bytes: Bytes): Block["labels"] {
  const count = bytes.varint();
  return { process: bytes.column(count), heap: bytes.column(count), flags: bytes.column(count) };
}

export function readTexts(bytes: Bytes): string[] {
  return bytes.texts(bytes.column(bytes.varint()));
}

export function readBlock(data: Uint8Array): Block {
  const bytes = new Bytes(data);
  const facts = readFacts(bytes);
  const texts = readTexts(bytes);
  const frames = readFrames(bytes, bytes.varint());
  const sites = readSites(bytes);
  const nodes = readNodes(bytes);
  const kinds = readKinds(bytes);
  const labels = readLabels(bytes);
  const count = bytes.varint();
  const node = bytes.column(count);
  for (let i = 1; i < count; ++i) node[i] += node[i - 1];
  const label = bytes.column(count);
  const holdings = readHoldings(bytes, count);
  return { facts, texts, frames, sites, nodes, kinds, labels, stacks: { node, label }, ...holdings };
}

/** The block of a page's text in base64: gzip. */
export async function unpack(base64: string): Promise<Uint8Array> {
  const text = atob(base64.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < packed.length; ++i) packed[i] = text.charCodeAt(i);
  return unzip(packed);
}

export async function unzip(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
