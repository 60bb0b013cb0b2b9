// SPDX-License-Identifier: Apache-2.0
// JavaScript's own heap: objects by the function that made them, beside the blocks and never added to them.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const { COMMAND, makeFolder, node, profilesIn, run } = require('./helpers.js');

const RATE = 16 * 1024;
const PROGRAM = `\
const kept = globalThis.kept = [keepObjects, keepBuffers]; // V8 forgets the file of a function that is collected
function keepObjects() {
  for (let i = 0; i < 400_000; i++) kept.push({ a: i, b: [i, i + 1], c: { i } });
}
function keepBuffers() {
  for (let i = 0; i < 200; i++) kept.push(Buffer.alloc(100_000, 1));
}
keepObjects();
keepBuffers();
`;

/** Of a profile: the JSON of the report by that metric, and its header as text. */
function report(folder, file, metric) {
  const table = run(folder, COMMAND, ['report', file, '--json', '--by', 'function', '--metric', metric]);
  assert.strictEqual(table.status, 0, table.stderr);
  return { ...JSON.parse(table.stdout), text: run(folder, COMMAND, ['report', file, '--details']).stdout };
}

const selfOf = (rows, name, metric) => rows.filter((row) => row.name === name).reduce((sum, row) => sum + row.self[metric].value, 0);

test("objects, by function, within 3 % of what V8 counts, and Buffers are in neither twice", (t) => {
  const folder = makeFolder(t);
  fs.writeFileSync(path.join(folder, 'app.js'), PROGRAM);
  const done = node(folder, ['--require', 'memprof/register', 'app.js'], { MEMPROF_RATE: String(RATE) });
  assert.strictEqual(done.stderr, '');
  const [file] = profilesIn(folder);
  const js = report(folder, file, 'js');
  const objects = selfOf(js.rows, 'keepObjects', 'js_space');
  const { js_live_bytes: live, js_used_bytes: used, js_bytes: resident, runtime_bytes: mapped } = js.resident;
  assert(live > 30e6 && live <= 1.05 * used && used <= resident, JSON.stringify(js.resident));
  // 30 MB and more at 16 KiB are 2,000 samples and more: 2.2 % is one standard deviation; of what was there before V8 sampled, 5 MB are left out.
  assert(objects > 0.88 * (live - 5e6) && objects < 1.12 * live, `${objects} of ${live}`);
  // Buffers are objects of some 100 bytes there, and their memory is in blocks.
  assert(selfOf(js.rows, 'keepBuffers', 'js_space') < 2e6);
  const blocks = report(folder, file, 'live');
  const buffers = selfOf(blocks.rows, 'keepBuffers', 'inuse_space');
  assert(buffers > 15e6 && buffers < 25e6, `${buffers}`);
  assert(selfOf(blocks.rows, 'keepObjects', 'inuse_space') < 2e6);
  assert(js.resident.js_external_bytes > 20e6);
  // V8's heap is the mappings that no block lies in: what V8 counts, and some that it does not.
  assert(resident > 0.8 * mapped && resident < 1.05 * mapped, JSON.stringify(js.resident));
  assert.match(js.text, /V8's heap \d+/);
  assert.match(js.text, /V8 counts [\d.]+ MiB of its heap in memory \(spaces: young [^)]*\): live objects [\d.]+ MiB, garbage /);
  assert.match(js.text, /^JS heap: +[\d.]+ MiB of objects that were made/m);
  const heaps = run(folder, COMMAND, ['report', file, '--by', 'heap', '--metric', 'js']).stdout;
  assert.match(heaps, /100\.0% +js$/m);
});

test('what a program asks for itself', (t) => {
  const folder = makeFolder(t);
  fs.writeFileSync(path.join(folder, 'app.js'), `\
const memprof = require('memprof');
const v8 = require('node:v8');
console.log(memprof.javascriptHeap()); // not sampled yet
memprof.start({ rateBytes: 0 });
${PROGRAM}
const snapshot = memprof.snapshot({ javascriptHeap: true });
const plain = memprof.snapshot();
const heap = memprof.javascriptHeap();
const [{ function: name, line, percent }] = heap.functions;
const share = heap.liveBytes / v8.getHeapStatistics().used_heap_size;
const all = heap.sampledBytes / heap.liveBytes;
console.log(JSON.stringify({ name, line, percent, share, all, rateBytes: heap.rateBytes, least: snapshot.javascriptHeap.functions[0].function, plain: plain.javascriptHeap }));
memprof.writeProfile('without.pb', { javascriptHeap: false });
memprof.writeProfile('with.pb');
memprof.writeProfileAsync('async.pb').then(() => {
  memprof.shutdown();
  console.log(memprof.javascriptHeap());
  memprof.writeProfile('after.pb');
});
`);
  const done = node(folder, ['app.js']);
  assert.strictEqual(done.stderr, '');
  const [before, facts, after] = done.stdout.trim().split('\n');
  assert.deepStrictEqual([before, after], ['null', 'null']);
  const { percent, share, all, ...rest } = JSON.parse(facts);
  assert.deepStrictEqual(rest, { name: 'keepObjects', line: 6, rateBytes: 4096, least: 'keepObjects', plain: null });
  assert(percent > 95 && share > 0.97 && share < 1.03 && all > 0.8 && all < 1.1, facts);
  const has = (file) => 'js_space' in (report(folder, path.join(folder, file), 'live').rows[0].self);
  assert.deepStrictEqual(['without.pb', 'with.pb', 'async.pb', 'after.pb'].map(has), [false, true, true, false]);
});

test('it can be left out, and where V8 cannot be asked the profile goes without', (t) => {
  const folder = makeFolder(t);
  const program = `
const memprof = require('memprof');
assert = require('node:assert');
for (const wrong of [() => memprof.start({ javascriptHeap: 1 }), () => memprof.snapshot({ javascriptHeap: 1 })]) assert.throws(wrong, /javascriptHeap: 1 is no boolean/);
`;
  for (const [options, flags] of [['{ javascriptHeap: false }', []], ['{ javascript: false }', []], ['{}', ['--require', './no_inspector.js']]]) {
    fs.writeFileSync(path.join(folder, 'no_inspector.js'), "require('node:inspector').Session.prototype.connect = () => { throw new Error('not here'); };");
    fs.writeFileSync(path.join(folder, 'app.js'), `${program} memprof.start(${options}); console.log(memprof.javascriptHeap()); memprof.writeProfile('x.pb', { overwrite: true });`);
    const done = node(folder, [...flags, 'app.js']);
    assert.deepStrictEqual([done.stdout, done.stderr], ['null\n', ''], options);
  }
});

test('a sampler that somebody else has ended', (t) => {
  const folder = makeFolder(t);
  fs.writeFileSync(path.join(folder, 'app.js'), `
const memprof = require('memprof');
memprof.start();
const { Session } = require('node:inspector');
const other = new Session();
other.connect();
other.post('HeapProfiler.startSampling');
other.post('HeapProfiler.stopSampling');
console.log(memprof.javascriptHeap());
memprof.writeProfile('x.pb');
`);
  const done = node(folder, ['app.js']);
  assert.deepStrictEqual([done.stdout, done.stderr], ['null\n', '']);
});

