// SPDX-License-Identifier: Apache-2.0
/**
 * memprof: a sampling profiler of memory allocations. It shows what Node's own profilers call "external": Buffers, ArrayBuffers,
 * zlib, crypto and native addons, by JavaScript function and line; and beside it V8's own heap (objects, strings), by function.
 *
 * Numbers are of type number: bytes and counts are exact up to 2^53 (8 PiB). Times are milliseconds since 1970, with a fraction, as of
 * Date. Errors are Errors with a `code`, see {@link ErrorCode}.
 *
 * One profiler serves the process: what a worker thread starts or stops is started or stopped for all.
 */

/**
 * `code` of an error: MEMPROF_ERR_* of memprof.h. MEMPROF_ERR_INVALID comes as a TypeError or RangeError;
 * MEMPROF_ERR_SYSTEM has `errno`; MEMPROF_ERR_NO_HOOKS: nothing can be seen in this process.
 */
export type ErrorCode =
  | 'MEMPROF_ERR_INVALID' | 'MEMPROF_ERR_STATE' | 'MEMPROF_ERR_NO_MEMORY' | 'MEMPROF_ERR_SYSTEM' | 'MEMPROF_ERR_EXISTS'
  | 'MEMPROF_ERR_FORKED' | 'MEMPROF_ERR_NO_HOOKS' | 'MEMPROF_ERR_FORMAT' | 'MEMPROF_ERR_LIMIT' | 'MEMPROF_ERR_OTHER_COPY';

/** An estimate, rounded, with the ends of its 95 % interval; all three are the same where every allocation was recorded. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** A function on a stack, at a line. */
export interface Frame {
  readonly function: string;
  /** The script; of native code the executable or library. */
  readonly file: string;
  /** From 1; 0: not known, as of native code. */
  readonly line: number;
  readonly isJavaScript: boolean;
}

/** A sampled block that is live. */
export interface Sample {
  readonly address: number;
  /** What was asked for. */
  readonly sizeBytes: number;
  /** What it stands for. */
  readonly weightBytes: number;
  readonly weightBlocks: number;
  /** Mean bytes between samples when it was drawn; 0 or 1: every allocation. */
  readonly rateBytes: number;
  /** When it was allocated. */
  readonly timestampMs: number;
  /** The system's id of the allocating thread. */
  readonly threadId: number;
  /** The innermost frame first. Samples of one stack share it. */
  readonly stack: readonly Frame[];
}

/** A place and what it holds: the innermost line of the program's JavaScript on the stack, else of Node's scripts, else a native function. */
export interface Place extends Frame {
  readonly estimatedBytes: Estimate;
  readonly estimatedBlocks: Estimate;
  readonly samples: number;
  /** Of all places together. */
  readonly percent: number;
  /** The stack that holds the most. */
  readonly stack: readonly Frame[];
}

/** The heap when it was at its highest. */
export interface Peak {
  readonly estimatedBytes: Estimate;
  readonly estimatedBlocks: Estimate;
  readonly timestampMs: number;
  /** Resident memory of the process then; null: not known. */
  readonly residentBytes: number | null;
}

/** A place in two snapshots. */
export interface PlaceDiff extends Frame {
  /** Live bytes after less those before. */
  readonly growth: Estimate;
  /** Chance does not explain it: the interval is on one side of 0. */
  readonly isSignificant: boolean;
  /** Samples that are live after, and were not before. */
  readonly newSamples: number;
  /** Samples that were live before, and are not after. */
  readonly goneSamples: number;
  readonly stack: readonly Frame[];
}

export interface SnapshotDiff {
  /** Of all places together. */
  readonly growth: Estimate;
  /** The largest changes first. */
  readonly rows: readonly PlaceDiff[];
}

/** A node of V8's sampling heap profile (HeapProfiler.SamplingHeapProfileNode). */
export interface HeapProfileNode {
  callFrame: { functionName: string; scriptId: string; url: string; lineNumber: number; columnNumber: number };
  /** Live bytes, estimated. */
  selfSize: number;
  id: number;
  children: HeapProfileNode[];
}

/** What Chrome DevTools and VS Code open, written as JSON to a .heapprofile file. */
export interface HeapProfile {
  head: HeapProfileNode;
  samples: { size: number; nodeId: number; ordinal: number }[];
}

export interface HeapProfileOptions {
  /** Also Node's own scripts and native functions. */
  allFrames?: boolean;
}

export interface TopOptions {
  /**
   * What places are ordered by, and what the numbers are of: what is live (the default), what was live when the heap was at its
   * highest, what was allocated since the start, or what of that was freed again within `youngerMs`.
   */
  metric?: 'live' | 'peak' | 'allocated' | 'temporary';
  /** For 'temporary'; 10 by default. Lifetimes are kept in classes, two a decade: the bound next to it is used. */
  youngerMs?: number;
}

/**
 * What was live when it was taken: an immutable copy, valid after stop and shutdown. Its memory (some 100 bytes a sample, outside of V8's
 * heap) is freed by dispose(), or when it is garbage collected.
 */
export class Snapshot {
  private constructor();
  readonly pid: number;
  /** Mean bytes between samples when it was taken; 0 or 1: every allocation. */
  readonly rateBytes: number;
  readonly timestampMs: number;
  /** Samples since the first start, freed ones included. */
  readonly totalSamples: number;
  readonly liveSamples: number;
  /** Samples that a full table refused: what they stand for is missing. */
  readonly droppedSamples: number;
  /** Bytes that are live. */
  readonly estimatedHeapBytes: Estimate;
  readonly estimatedHeapBlocks: Estimate;
  /** The heap at its highest since the start or resetPeak(); null: not known. */
  readonly peak: Peak | null;
  /** JavaScript's heap, if it was asked for and is sampled; else null. */
  readonly javascriptHeap: JavascriptHeap | null;
  /** Every live sample; made anew each time it is asked for. */
  readonly samples: readonly Sample[];
  /** The n (10) places that hold the most. */
  topAllocators(n?: number, options?: TopOptions): Place[];
  /** What changed from this snapshot to another; as diff(this, after). */
  diff(after: Snapshot): SnapshotDiff;
  /** Live bytes by call stack in V8's form. Not V8's own heap: what was allocated outside of it. */
  heapProfile(options?: HeapProfileOptions): HeapProfile;
  /**
   * Gives native functions their names, those that their executable or library exports, and returns the snapshot. It looks each up, which can
   * take 100 ms; snapshotAsync() does it in the thread pool. JavaScript has its names without it.
   */
  resolve(): this;
  /** Frees its memory; what is asked of it later throws MEMPROF_ERR_STATE. */
  dispose(): void;
}

/** A function and the objects that it made, which live; with those of functions that V8 inlined into it. */
export interface JavascriptFunction {
  readonly function: string;
  readonly file: string;
  /** The line that the function begins in: V8 does not tell that of the allocation. */
  readonly line: number;
  /** V8's estimate. */
  readonly bytes: number;
  /** Of all functions together. */
  readonly percent: number;
}

/**
 * JavaScript's own heap: objects, closures, strings, compiled code. Not Buffers and ArrayBuffers: their memory is in the samples of
 * a snapshot, and nothing is in both.
 */
export interface JavascriptHeap {
  /** V8's own count of what is in use, as v8.getHeapStatistics(), with what nothing refers to any more. */
  readonly usedBytes: number;
  /** Of that what lives: usedBytes after the garbage collection. */
  readonly liveBytes: number;
  /** What the heap has in memory. */
  readonly residentBytes: number;
  /** Of residentBytes, by V8's spaces: of young objects, of older ones, and of large ones. */
  readonly youngBytes: number;
  readonly oldBytes: number;
  readonly largeBytes: number;
  /** Machine code and what it needs; a part of usedBytes. */
  readonly codeBytes: number;
  /** Kept by objects, outside of the heap (Buffers): in the samples of a snapshot already. */
  readonly externalBytes: number;
  /** Of objects that were made since the start and live; the sum of all functions. */
  readonly sampledBytes: number;
  /** Mean bytes between V8's samples: the rate at the start, at least 4096. */
  readonly rateBytes: number;
  /** The largest first. What Node's own scripts made counts as their caller's. */
  readonly functions: readonly JavascriptFunction[];
}

export interface SnapshotOptions {
  /** Also `javascriptHeap`; false by default: V8 collects its garbage for it. */
  javascriptHeap?: boolean;
}

export interface StartOptions {
  /**
   * Mean bytes between samples. Less is more exact and costs more; 0 records every allocation. By default, without a budget: 8192 at first, and more as
   * bytes go by, up to 524288, so that a small program is seen finely; V8's samples of its heap are at 524288 from the start on.
   */
  rateBytes?: number;
  /** What sampling may cost, as a share of the process's CPU time: '0.5%' or 0.005. The rate follows it from a coarse one on, or from rateBytes, where that is not the default. */
  budget?: string | number;
  /** That all tables stay within; at least 4 MiB. Full tables cost detail, never totals. */
  memoryLimitBytes?: number;
  /** Frames kept of a stack, up to 1024; 512 by default. */
  maxDepth?: number;
  maxLiveSamples?: number;
  maxStacks?: number;
  /** false: stacks are native, without JavaScript. */
  javascript?: boolean;
  /**
   * Whether V8 samples the heap of the calling thread's isolate, at the same rate (4096 at least); as `javascript` by default. V8 has one such
   * sampler: DevTools and others that use it share it. It goes on until shutdown().
   */
  javascriptHeap?: boolean;
}

/** Counters since the first start. */
export interface Stats {
  readonly state: 'uninitialized' | 'initialized' | 'active' | 'stopped' | 'terminated';
  /** How allocations are seen: preloaded or linked, or by patched import tables. */
  readonly hooks: 'none' | 'interposed' | 'imports';
  /** "" until V8 was found. */
  readonly v8Version: string;
  readonly javascriptStacks: 'none' | 'unchecked' | 'read' | 'unknown version' | 'unknown layout';
  readonly rateBytes: number;
  readonly samples: number;
  readonly liveSamples: number;
  readonly freedSamples: number;
  readonly droppedSamples: number;
  readonly droppedWeightBytes: number;
  readonly replacedSamples: number;
  readonly foldedStacks: number;
  readonly thinnedSamples: number;
  readonly stacks: number;
  readonly modules: number;
  /** What the live samples stand for, and the most that this was. */
  readonly liveWeightBytes: number;
  readonly peakWeightBytes: number;
  readonly mutedBytes: number;
  readonly arenaBytes: number;
  readonly arenaUsedBytes: number;
  readonly budgetPpm: number;
  readonly cpuNs: number;
  readonly samplingNs: number;
}

export interface WriteOptions {
  /** Replace a file that is there. */
  overwrite?: boolean;
  /** With JavaScript's heap, where it is sampled; true by default. V8 collects its garbage for it. */
  javascriptHeap?: boolean;
}

/** The version of the native library. */
export const version: string;

/**
 * Starts to record allocations, or goes on after a stop. All options but rateBytes are settled by the first start.
 * Throws MEMPROF_ERR_STATE when it is active (as under `memprof run`) or was shut down, MEMPROF_ERR_NO_HOOKS where nothing can be seen.
 */
export function start(options?: StartOptions): void;
/** Ends the recording of new allocations; frees are still followed, and all data kept. */
export function stop(): void;
/** Ends the profiler for good; what was recorded can still be read. A program needs no call of it. */
export function shutdown(): void;
export function isActive(): boolean;
export function stats(): Stats;
/** From now on the peak is that of what follows. */
export function resetPeak(): void;
/** What is live now. Throws MEMPROF_ERR_STATE before the first start. */
export function snapshot(options?: SnapshotOptions): Snapshot;
/** The same, taken by a thread of libuv's pool, with names of native functions. */
export function snapshotAsync(options?: SnapshotOptions): Promise<Snapshot>;
/**
 * JavaScript's heap of the calling thread. V8 collects its garbage first: some 0.1 s for 100 MB, while JavaScript waits.
 * null: V8 does not sample it (`javascriptHeap` of start; node without its inspector; another thread than that which called start).
 */
export function javascriptHeap(): JavascriptHeap | null;
/**
 * Writes a pprof profile, which the memprof command reads: `path` ends in .pb.gz or .pb; %p in it is the process id, %n the program, %t the
 * time, %% a percent sign. Throws MEMPROF_ERR_EXISTS for a file that is there.
 */
export function writeProfile(path: string, options?: WriteOptions): void;
/** The same, done by a thread of libuv's pool. Not for 'exit' handlers. */
export function writeProfileAsync(path: string, options?: WriteOptions): Promise<void>;
/** What changed between two snapshots. Blocks that both have cancel out, so that the interval is that of the change. */
export function diff(before: Snapshot, after: Snapshot): SnapshotDiff;
/** Of a snapshot that is taken now. */
export function heapProfile(options?: HeapProfileOptions): HeapProfile;
