// SPDX-License-Identifier: Apache-2.0
// JavaScript's own heap: objects by the function that made them, from V8's sampling heap profiler, and V8's own count of its memory.
// V8's sampler belongs to an isolate: it sees the thread that started it, and is asked there.
'use strict';

const native = require('./binary.js');

// V8 keeps some 500 bytes of each sample: sampling every object, as rateBytes 0 asks for, would take many times the program's memory.
const LEAST_RATE_BYTES = 4096;
const NOBODY = '(no JavaScript function)';

let session = null;
let rate = 0;

function post(method, parameters) {
  let failure = null;
  let result = null;
  session.post(method, parameters, (error, value) => { // called before post() returns
    failure = error;
    result = value;
  });
  if (failure) throw Object.assign(new Error(`memprof: V8's heap profiler: ${failure.message}`), { code: 'MEMPROF_ERR_NO_HOOKS' });
  return result;
}

/** Whether V8 samples. Where it cannot be asked (node without its inspector, --permission) the profile goes without. */
function start(rateBytes) {
  if (session) return true;
  rate = Math.max(rateBytes, LEAST_RATE_BYTES);
  try {
    native.unsampled(() => {
      const { Session } = require('node:inspector');
      session = new Session();
      session.connect();
      post('HeapProfiler.startSampling', { samplingInterval: rate });
    });
  } catch {
    session = null;
  }
  return session !== null;
}

function stop() {
  if (!session) return;
  session.disconnect(); // which ends the sampling
  session = null;
}

/** V8's count of the isolate's memory. */
function sums() {
  const v8 = require('node:v8'); // a millisecond or two, which no program is to wait for at its start
  const all = v8.getHeapStatistics();
  const spaces = v8.getHeapSpaceStatistics();
  const code = spaces.filter((space) => /^code_/.test(space.space_name));
  const inMemory = (is) => spaces.reduce((sum, space) => sum + (is(space.space_name) ? space.physical_space_size : 0), 0);
  const isYoung = (name) => name.startsWith('new_');
  const isLarge = (name) => !isYoung(name) && name.endsWith('large_object_space');
  return {
    residentBytes: all.total_physical_size,
    usedBytes: all.used_heap_size,
    codeBytes: code.reduce((sum, space) => sum + space.space_used_size, 0),
    externalBytes: all.external_memory,
    youngBytes: inMemory(isYoung),
    oldBytes: inMemory((name) => !isYoung(name) && !isLarge(name)),
    largeBytes: inMemory(isLarge),
  };
}

const nameOf = ({ functionName, lineNumber, columnNumber }) => functionName || (lineNumber === 0 && columnNumber === 0 ? '(top level)' : '(anonymous)');

/** What the arguments of native.writeProfile are besides the path and whether it overwrites: a snapshot and the heap. */
function content() {
  if (!session) return [];
  // Blocks before JavaScript: V8 collects garbage for the answer, and the profile is to have what the program held.
  const handle = native.snapshot();
  native.readResident(handle);
  const heap = read();
  if (heap) return [handle, ...flat(heap)];
  native.dispose(handle);
  return [];
}

/** A list of calls, each after its caller; V8's own work is its caller's. null: V8 does not sample. */
function read() {
  return session ? native.unsampled(readUnsampled) : null;
}

function readUnsampled() {
  const before = sums();
  let head;
  try {
    ({ profile: { head } } = post('HeapProfiler.getSamplingProfile'));
  } catch {
    return null; // somebody else has ended the sampling
  }
  const nodes = [];
  const visit = (node, caller) => {
    let index = caller;
    const { callFrame, selfSize } = node;
    if (callFrame.scriptId !== '0') { // url '': the function itself was collected, and what it made lives
      index = nodes.push({ function: nameOf(callFrame), file: callFrame.url, line: callFrame.lineNumber + 1, parent: caller, bytes: selfSize }) - 1;
    } else if (selfSize > 0 && caller >= 0) {
      nodes[caller].bytes += selfSize; // what V8 does for it: (GC), (BYTECODE_COMPILER)
    } else if (selfSize > 0) {
      nodes.push({ function: NOBODY, file: '', line: 0, parent: -1, bytes: selfSize });
    }
    for (const child of node.children) visit(child, index);
  };
  visit(head, -1);
  return { ...before, liveBytes: sums().usedBytes, rateBytes: rate, nodes };
}

/** What the addon takes: the strings, and the numbers. */
function flat(heap) {
  const texts = [];
  const known = new Map();
  const indexOf = (text) => {
    if (!known.has(text)) known.set(text, texts.push(text) - 1);
    return known.get(text);
  };
  const totals = [heap.residentBytes, heap.usedBytes, heap.liveBytes, heap.codeBytes, heap.externalBytes, heap.youngBytes, heap.oldBytes, heap.largeBytes];
  const numbers = new Float64Array(totals.length + 5 * heap.nodes.length);
  numbers.set(totals);
  heap.nodes.forEach((node, index) => {
    numbers.set([indexOf(node.function), indexOf(node.file), node.bytes, node.line, node.parent < 0 ? index : node.parent], totals.length + 5 * index);
  });
  return [texts, numbers];
}

/** By function, the largest first: what node's own scripts made is their caller's. */
function functions(nodes) {
  const sites = new Map();
  let total = 0;
  for (const node of nodes) {
    if (node.bytes === 0) continue;
    let of = node;
    while (of.file.startsWith('node:') && of.parent >= 0) of = nodes[of.parent];
    if (of.file.startsWith('node:')) of = node; // none of the program's
    const key = `${of.function}\n${of.file}\n${of.line}`;
    const site = sites.get(key) ?? { function: of.function, file: of.file, line: of.line, bytes: 0 };
    site.bytes += node.bytes;
    total += node.bytes;
    sites.set(key, site);
  }
  return { total, sites: [...sites.values()].sort((a, b) => b.bytes - a.bytes) };
}

module.exports = { content, functions, read, start, stop };
