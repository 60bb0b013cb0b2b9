// SPDX-License-Identifier: Apache-2.0
// The functions of the package in one process, which records every allocation: the numbers are exact.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const v8 = require('node:v8');
const vm = require('node:vm');
const memprof = require('memprof');
const { COMMAND, assertAbout, makeFolder, rows, run } = require('./helpers.js');

const COUNT = 200;
const SIZE = 30_000;

function keepBuffers() {
  const kept = [];
  for (let i = 0; i < COUNT; i++) kept.push(Buffer.alloc(SIZE, 1));
  return kept;
}
const LINE = keepBuffers.toString().includes('Buffer.alloc') && 19;

const codes = (call) => {
  try {
    call();
  } catch (error) {
    assert(error instanceof Error);
    return error.code;
  }
  return 'no error';
};

test('before the first start there is nothing', () => {
  assert.strictEqual(memprof.isActive(), false);
  assert.strictEqual(memprof.stats().state, 'uninitialized');
  for (const call of [memprof.snapshot, memprof.stop, memprof.shutdown, memprof.heapProfile, () => memprof.writeProfile('x.pb')]) {
    assert.strictEqual(codes(call), 'MEMPROF_ERR_STATE');
  }
});

test('wrong arguments are named, and start nothing', () => {
  for (const [call, Kind, words] of [
    [() => memprof.start({ rateBytes: '64k' }), TypeError, /rateBytes: '64k' is no number.*524288/],
    [() => memprof.start({ rateBytes: -1 }), RangeError, /rateBytes: -1 .*between 0 and/],
    [() => memprof.start({ rateBytes: 1.5 }), RangeError, /whole number/],
    [() => memprof.start({ rateBytes: 2 ** 51 }), RangeError, /rateBytes/],
    [() => memprof.start({ rateByte: 1 }), TypeError, /no option 'rateByte'; there are rateBytes/],
    [() => memprof.start(4096), TypeError, /4096 is no object of options/],
    [() => memprof.start({ budget: '60%' }), RangeError, /budget: '60%'/],
    [() => memprof.start({ memoryLimitBytes: 1 }), RangeError, /memoryLimitBytes: 1 /],
    [() => memprof.start({ javascript: 'no' }), TypeError, /javascript/],
    [() => memprof.writeProfile(7), TypeError, /path: 7 is no path.*\.pb\.gz/],
    [() => memprof.writeProfile('a.pb', { overwite: true }), TypeError, /no option 'overwite'/],
    [() => memprof.diff({}, null), TypeError, /before is no snapshot/],
  ]) {
    assert.throws(call, (error) => error instanceof Kind && error.code === 'MEMPROF_ERR_INVALID' && words.test(error.message), String(call));
  }
  assert.strictEqual(memprof.isActive(), false);
});

let before;
let kept;

test('a start and a snapshot', () => {
  memprof.start({ rateBytes: 0 });
  assert(memprof.isActive());
  assert.strictEqual(codes(() => memprof.start()), 'MEMPROF_ERR_STATE');
  before = memprof.snapshot();
  kept = keepBuffers();
  const snapshot = memprof.snapshot();
  assert.strictEqual(snapshot.pid, process.pid);
  assert.strictEqual(snapshot.rateBytes, 0);
  assert(Math.abs(snapshot.timestampMs - Date.now()) < 3_600_000);
  assert(snapshot.liveSamples >= COUNT && snapshot.totalSamples >= snapshot.liveSamples);
  assert.strictEqual(snapshot.droppedSamples, 0);
  const { value, low, high } = snapshot.estimatedHeapBytes;
  assert(value >= COUNT * SIZE && low === value && high === value);
  assert(snapshot.peak.estimatedBytes.value > 0);

  const [top] = snapshot.topAllocators(1);
  assert.deepStrictEqual([top.function, top.file, top.line, top.isJavaScript], ['keepBuffers', __filename, LINE, true]);
  assertAbout(top.estimatedBytes.value, COUNT * SIZE);
  assert(top.samples >= COUNT && top.estimatedBlocks.value === top.samples && top.percent > 50);
  assert(top.stack.some((frame) => frame.function === 'keepBuffers' && frame.isJavaScript));
  for (const metric of ['peak', 'allocated']) {
    assert.strictEqual(snapshot.topAllocators(1, { metric })[0].function, 'keepBuffers');
  }
  assert.strictEqual(snapshot.topAllocators(0).length, 0);
  assert.throws(() => snapshot.topAllocators(1, { metric: 'most' }), /'most' is none of live, peak/);
  assert.throws(() => snapshot.topAllocators(-1), /-1/);

  const sizes = snapshot.samples.filter((sample) => sample.sizeBytes === SIZE);
  assert.strictEqual(sizes.length, COUNT);
  assert.deepStrictEqual([sizes[0].weightBytes, sizes[0].weightBlocks, sizes[0].rateBytes], [SIZE, 1, 0]);
  assert(sizes[0].address > 0 && sizes[0].threadId === process.pid);
  assert(sizes.every((sample) => sample.stack === sizes[0].stack), 'samples of one stack share it');
});

test('a difference', () => {
  const after = memprof.snapshot();
  const difference = memprof.diff(before, after);
  const row = difference.rows.find((each) => each.function === 'keepBuffers');
  assertAbout(row.growth.value, COUNT * SIZE);
  assert(row.isSignificant && row.newSamples >= COUNT && row.goneSamples === 0);
  assert(difference.growth.value > 0);
  const back = after.diff(before).rows.find((each) => each.function === 'keepBuffers');
  assert.strictEqual(back.growth.value, -row.growth.value);
  assert.deepStrictEqual(memprof.diff(after, after), { growth: { value: 0, low: 0, high: 0 }, rows: [] });
});

test("V8's form of a heap profile", () => {
  const snapshot = memprof.snapshot();
  const { head, samples } = snapshot.heapProfile();
  const found = [];
  let sum = 0;
  const ids = new Set();
  (function visit(node) {
    sum += node.selfSize;
    ids.add(node.id);
    assert.deepStrictEqual(Object.keys(node.callFrame).sort(), ['columnNumber', 'functionName', 'lineNumber', 'scriptId', 'url']);
    if (node.callFrame.functionName === 'keepBuffers') found.push(node);
    node.children.forEach(visit);
  })(head);
  assert(Math.abs(sum - snapshot.estimatedHeapBytes.value) <= 1);
  assertAbout(found.reduce((total, node) => total + node.selfSize, 0), COUNT * SIZE);
  assert(found.every((node) => node.callFrame.url === __filename && node.callFrame.lineNumber === LINE - 1));
  assert.strictEqual(samples.reduce((total, { size }) => total + size, 0), sum);
  assert(samples.every(({ nodeId }) => ids.has(nodeId)));
  const all = JSON.stringify(snapshot.heapProfile({ allFrames: true }));
  assert(all.length > JSON.stringify(head).length && all.includes('"url":"node:'));
  assert.strictEqual(memprof.heapProfile().head.callFrame.functionName, '(root)');
});

test('a profile is written, at once and by the thread pool', async (t) => {
  const folder = makeFolder(t);
  const file = path.join(folder, 'heap.%p.pb.gz');
  const written = file.replace('%p', process.pid);
  memprof.writeProfile(file);
  assertAbout(rows(folder, written)[`keepBuffers:${LINE}`], COUNT * SIZE);
  assert.strictEqual(codes(() => memprof.writeProfile(file)), 'MEMPROF_ERR_EXISTS');
  memprof.writeProfile(file, { overwrite: true });
  fs.rmSync(written);
  await memprof.writeProfileAsync(file);
  assertAbout(rows(folder, written)[`keepBuffers:${LINE}`], COUNT * SIZE);
  await assert.rejects(memprof.writeProfileAsync(file), { code: 'MEMPROF_ERR_EXISTS' });
  await assert.rejects(memprof.writeProfileAsync(path.join(folder, 'heap.svg')), { code: 'MEMPROF_ERR_INVALID', message: /ends in \.pb\.gz or \.pb/ });
  const nowhere = path.join(folder, 'none', 'heap.pb');
  assert.throws(() => memprof.writeProfile(nowhere), { code: 'MEMPROF_ERR_SYSTEM', errno: 2, message: /none\/heap\.pb.*No such file/ });
});

test('snapshots by the thread pool have names of native functions', async () => {
  const snapshot = await memprof.snapshotAsync();
  const names = new Set(snapshot.samples.flatMap((sample) => sample.stack.filter((frame) => !frame.isJavaScript).map((frame) => frame.function)));
  assert([...names].some((name) => /^(node|v8)::/.test(name)), [...names].slice(0, 20).join());
  const plain = memprof.snapshot();
  const native = plain.samples[0].stack.find((frame) => !frame.isJavaScript);
  assert(/\+0x[0-9a-f]+$/.test(native.function) && path.isAbsolute(native.file), JSON.stringify(native));
  plain.resolve().resolve();
  assert(plain.samples.some((sample) => sample.stack.some((frame) => /^(node|v8)::/.test(frame.function))));
});

test('snapshots are freed by dispose, and when nothing refers to them', async () => {
  const snapshot = memprof.snapshot();
  snapshot.dispose();
  snapshot.dispose();
  for (const call of [() => snapshot.samples, () => snapshot.topAllocators(), () => snapshot.heapProfile(), () => snapshot.resolve(), () => memprof.diff(snapshot, snapshot)]) {
    assert.strictEqual(codes(call), 'MEMPROF_ERR_STATE');
  }
  assert(snapshot.liveSamples >= COUNT, 'what it knows stays');
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc');
  // The mappings of a process are counted, not its bytes: of them nothing else comes and goes by hundreds.
  const mappings = () => fs.readFileSync('/proc/self/maps', 'utf8').split('\n').length;
  const least = mappings();
  const each = (() => {
    const one = memprof.snapshot();
    const more = mappings() - least;
    one.dispose();
    return more;
  })();
  for (let i = 0; i < 60; i++) memprof.snapshot();
  for (let i = 0; i < 20; i++) {
    collect();
    await new Promise(setImmediate);
  }
  assert(mappings() < least + 30 * Math.max(each, 1), `${mappings()} mappings after ${least}, ${each} for one snapshot`);
});

test('stop, another start, and the end', () => {
  memprof.stop();
  assert.strictEqual(memprof.stats().state, 'stopped');
  assert.strictEqual(codes(memprof.stop), 'MEMPROF_ERR_STATE');
  const { totalSamples } = memprof.snapshot();
  kept.push(Buffer.alloc(SIZE));
  assert.strictEqual(memprof.snapshot().totalSamples, totalSamples);
  assert.throws(() => memprof.start({ maxDepth: 100 }), { code: 'MEMPROF_ERR_STATE', message: /settled by the first start/ });
  memprof.start({ rateBytes: 65536 });
  const stats = memprof.stats();
  assert.deepStrictEqual([stats.state, stats.rateBytes, stats.javascriptStacks, stats.hooks], ['active', 65536, 'read', 'imports']);
  assert(/^\d+\.\d+$/.test(stats.v8Version) && process.versions.v8.startsWith(`${stats.v8Version}.`));
  memprof.resetPeak();
  memprof.shutdown();
  memprof.shutdown();
  assert.strictEqual(codes(memprof.start), 'MEMPROF_ERR_STATE');
  assert(memprof.snapshot().liveSamples >= COUNT, 'what was recorded can still be read');
});

test('the version is that of the command', (t) => {
  assert(run(makeFolder(t), COMMAND, ['--version']).stdout.includes(memprof.version));
  assert.strictEqual(require('memprof/package.json').version, memprof.version);
});
