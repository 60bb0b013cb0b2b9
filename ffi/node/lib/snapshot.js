// SPDX-License-Identifier: Apache-2.0
// Snapshot: what was live at one moment.  All sums and intervals are the library's.
'use strict';

const { inspect } = require('node:util');
const native = require('./binary.js');
const check = require('./check.js');
const { heapProfileOf } = require('./heap_profile.js');

const METRICS = ['live', 'peak', 'allocated', 'temporary'];

class Snapshot {
  #handle;
  #info;
  #live;
  #javascriptHeap;

  constructor(handle, javascriptHeap) {
    this.#handle = handle;
    this.#javascriptHeap = javascriptHeap;
    this.#info = native.info(handle);
  }

  get pid() { return this.#info.pid; }
  get rateBytes() { return this.#info.rateBytes; }
  get timestampMs() { return this.#info.timestampMs; }
  get totalSamples() { return this.#info.totalSamples; }
  get liveSamples() { return this.#info.liveSamples; }
  get droppedSamples() { return this.#info.droppedSamples; }

  get javascriptHeap() { return this.#javascriptHeap; }
  get estimatedHeapBytes() { return this.#sum().estimatedHeapBytes; }
  get estimatedHeapBlocks() { return this.#sum().estimatedHeapBlocks; }
  get peak() { return native.peak(this.#handle); }
  get samples() { return native.samples(this.#handle); }

  #sum() {
    this.#live ??= native.live(this.#handle);
    return this.#live;
  }

  topAllocators(n = 10, { metric = 'live', youngerMs = 10 } = {}) {
    check.whole('topAllocators: n', n, { most: 2 ** 32 - 1, like: 'how many places, like 10' });
    check.oneOf('topAllocators: metric', metric, METRICS);
    if (typeof youngerMs !== 'number' || !(youngerMs > 0) || youngerMs > 1e12) {
      throw check.wrong(RangeError, `topAllocators: youngerMs: ${youngerMs} is no time; give milliseconds, like 10`);
    }
    return native.top(this.#handle, n, metric, Math.max(1, Math.round(youngerMs * 1e6)));
  }

  diff(after) {
    return Snapshot.diff(this, after);
  }

  heapProfile(options) {
    const { allFrames = false } = check.options('heapProfile', options, ['allFrames']);
    return heapProfileOf(native.tree(this.#handle, allFrames ? 1 : 0));
  }

  resolve() {
    native.resolve(this.#handle);
    return this;
  }

  dispose() {
    native.dispose(this.#handle);
  }

  static isSnapshot(value) {
    return typeof value === 'object' && value !== null && #handle in value;
  }

  static diff(before, after) {
    for (const [name, value] of [['before', before], ['after', after]]) {
      if (!Snapshot.isSnapshot(value)) throw check.wrong(TypeError, `diff: ${name} is no snapshot; give what memprof.snapshot() returns`);
    }
    return native.difference(before.#handle, after.#handle);
  }

  [inspect.custom](_depth, options) {
    const { pid, rateBytes, liveSamples, totalSamples } = this;
    return `Snapshot ${inspect({ pid, rateBytes, liveSamples, totalSamples }, options)}`;
  }
}
// In `using snapshot = memprof.snapshot()`.
if (Symbol.dispose) Object.defineProperty(Snapshot.prototype, Symbol.dispose, { value: Snapshot.prototype.dispose });

module.exports = { Snapshot };
