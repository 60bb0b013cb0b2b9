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

export interface Facts {
  version: number;
  title: string;
  lines: string[];
  sides: Side[];
  metrics: Metric[];
  metric: Metric;
  has_intervals: boolean;
  unlisted_bytes: number;
  changes: Partial<Record<Metric, Changes>>;
}

export interface Frames {
  name: Uint32Array; // these are indices of texts
  shown: Uint32Array;
  symbol: Uint32Array;
  file: Uint32Array;
  module: Uint32Array;
  shownModule: Uint32Array;
  path: Uint32Array;
  line: Uint32Array;
  flags: Uint32Array;
}

export const NAME_IS_ALLOCATOR = 1;
export const SYMBOL_IS_ALLOCATOR = 2;
export const IS_NAMED = 4;

/** Of a site. The numbers are those of FrameRole in src/profile/names/frame_role.h. */
export const Role = {
  own: 0,
  allocation: 1,
  wrapper: 2,
  library: 3,
  import: 4,
  nameless: 5,
  gap: 6,
} as const;
export const ROLE_MASK = 7;
export const IS_INTERPRETER = 8;

export const LABEL_IS_CUT = 1;
export const LABEL_IS_AFTER = 2;

/** Live blocks, all that were allocated, those at the peak. */
export const FAMILIES = 3;
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

export interface Block {
  facts: Facts;
  texts: string[];
  frames: Frames;
  sites: { frame: Uint32Array; role: Uint32Array };
  /** In preorder. */
  nodes: { site: Uint32Array; parent: Int32Array; depth: Uint32Array };
  kinds: { size: Float64Array; rate: Float64Array; share: Uint32Array };
  labels: { process: Uint32Array; heap: Uint32Array; flags: Uint32Array };
  stacks: { node: Uint32Array; label: Uint32Array };
  families: Family[];
  totals: { size: Float64Array; numbers: Float64Array };
  plain: Float64Array; // bytes and blocks by turns
}

function readFrames(bytes: Bytes, count: number): Frames {
  return {
    name: bytes.column(count),
    shown: bytes.column(count),
    symbol: bytes.column(count),
    file: bytes.column(count),
    module: bytes.column(count),
    shownModule: bytes.column(count),
    path: bytes.column(count),
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

export function readBlock(data: Uint8Array): Block {
  const bytes = new Bytes(data);
  const facts = JSON.parse(bytes.text()) as Facts;
  if (facts.version !== 1) throw new Error(`this page does not know version ${facts.version} of its data`);
  const texts = bytes.texts(bytes.column(bytes.varint()));
  const frames = readFrames(bytes, bytes.varint());
  const siteCount = bytes.varint();
  const sites = { frame: bytes.column(siteCount), role: bytes.column(siteCount) };
  const nodes = readNodes(bytes);
  const kindCount = bytes.varint();
  const kinds = {
    size: bytes.wideColumn(kindCount),
    rate: bytes.wideColumn(kindCount),
    share: bytes.column(kindCount),
  };
  const labelCount = bytes.varint();
  const labels = {
    process: bytes.column(labelCount),
    heap: bytes.column(labelCount),
    flags: bytes.column(labelCount),
  };
  const count = bytes.varint();
  const node = bytes.column(count);
  for (let i = 1; i < count; ++i) node[i] += node[i - 1];
  const label = bytes.column(count);
  const families = readFamilies(bytes, count);
  const rows = numberRows(families, count);
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
  if (!bytes.isAtEnd) throw new Error("the data block is longer than it says");
  return { facts, texts, frames, sites, nodes, kinds, labels, stacks: { node, label }, families, totals, plain };
}

/** The block of a page's text in base64: gzip. */
export async function unpack(base64: string): Promise<Uint8Array> {
  const text = atob(base64.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < packed.length; ++i) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
