// SPDX-License-Identifier: Apache-2.0
// The package's functions (index.d.ts describes them): arguments are checked here, the rest is done by the library.
'use strict';

const native = require('./lib/binary.js');
const check = require('./lib/check.js');
const heap = require('./lib/javascript_heap.js');
const { Snapshot } = require('./lib/snapshot.js');

const DEFAULT_RATE_BYTES = 512 * 1024;
const USE_NOTHING = 1; // MEMPROF_USE_*
const USE_STACKS = 2; // V8's heap is asked for here (lib/javascript_heap.js), when a profile is written
const START = ['rateBytes', 'budget', 'memoryLimitBytes', 'maxDepth', 'maxLiveSamples', 'maxStacks', 'javascript', 'javascriptHeap'];

function start(options) {
  const given = check.options('start', options, START);
  const javascript = check.flag('start: javascript', given.javascript, true);
  const javascriptHeap = check.flag('start: javascriptHeap', given.javascriptHeap, javascript);
  const limit = (name, least, most, like) => check.whole(`start: ${name}`, given[name], { least, most, like });
  const startsFine = given.rateBytes === undefined && given.budget === undefined;
  native.start({
    startsFine: Number(startsFine),
    rateBytes: check.whole('start: rateBytes', given.rateBytes, {
      most: 2 ** 50, otherwise: DEFAULT_RATE_BYTES, like: 'bytes between samples, like 524288 (0 records every allocation)' }),
    budgetPpm: check.share('start: budget', given.budget),
    memoryLimitBytes: limit('memoryLimitBytes', 2 ** 22, 2 ** 50, 'bytes, at least 4 MiB'),
    maxDepth: limit('maxDepth', 1, 1024, 'frames of a stack, like 512'),
    maxLiveSamples: limit('maxLiveSamples', 1, 2 ** 30, 'a number, like 1048576'),
    maxStacks: limit('maxStacks', 1, 2 ** 24, 'a number, like 65536'),
    useV8: javascript ? USE_STACKS : USE_NOTHING,
  });
  if (javascriptHeap) heap.start(startsFine ? DEFAULT_RATE_BYTES : native.stats().rateBytes); // V8's rate cannot change
}

const LIKE = "one that ends in .pb.gz or .pb, like 'heap.%p.pb.gz'";

function pathArguments(path, options) {
  const { overwrite = false, javascriptHeap } = check.options('writeProfile', options, ['overwrite', 'javascriptHeap']);
  const file = check.text('writeProfile: path', path, LIKE);
  const hasHeap = check.flag('writeProfile: javascriptHeap', javascriptHeap, true) && native.stats().state !== 'uninitialized';
  return [file, overwrite ? 1 : 0, ...(hasHeap ? heap.content() : [])];
}

function writeProfile(path, options) {
  native.writeProfile(...pathArguments(path, options));
}

async function writeProfileAsync(path, options) {
  await native.writeProfileAsync(...pathArguments(path, options));
}

function javascriptHeap() {
  const read = heap.read();
  if (!read) return null;
  const { nodes, ...sums } = read;
  const { total, sites } = heap.functions(nodes);
  return { ...sums, sampledBytes: total, functions: sites.map((site) => ({ ...site, percent: (100 * site.bytes) / total })) };
}

const heapFor = (options) => {
  const { javascriptHeap: wanted } = check.options('snapshot', options, ['javascriptHeap']);
  return check.flag('snapshot: javascriptHeap', wanted, false) ? javascriptHeap() : null;
};
// V8 is asked first: what it needs for the answer is gone then.
const snapshot = (options) => {
  const ofJavascript = heapFor(options);
  return new Snapshot(native.snapshot(), ofJavascript);
};
const snapshotAsync = async (options) => {
  const ofJavascript = heapFor(options);
  return new Snapshot(await native.snapshotAsync(), ofJavascript);
};

function heapProfile(options) {
  const taken = snapshot();
  try {
    return taken.heapProfile(options);
  } finally {
    taken.dispose();
  }
}

const { version } = native;
const stop = () => native.stop();
const shutdown = () => {
  native.shutdown();
  heap.stop();
};
const stats = () => native.stats();
const resetPeak = () => native.resetPeak();
const isActive = () => native.stats().state === 'active';
const diff = (before, after) => Snapshot.diff(before, after);

module.exports = { Snapshot, diff, heapProfile, isActive, javascriptHeap, resetPeak, shutdown, snapshot, snapshotAsync, start, stats, stop, version, writeProfile, writeProfileAsync };
