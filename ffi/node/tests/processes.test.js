// SPDX-License-Identifier: Apache-2.0
// memprof/register, and the package in a process that `memprof run` started: every process leaves its profile, however it ends.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const { COMMAND, assertAbout, hasImport, makeFolder, node, profilesIn, rows, run } = require('./helpers.js');

const EXACT = { MEMPROF_RATE: '0' };
const BYTES = 100 * 30_000;
const KEEP = `\
function keep() {
  const kept = [];
  for (let i = 0; i < 100; i++) kept.push(Buffer.alloc(30000, 1));
  return kept;
}
globalThis.kept = keep();
`;

function write(folder, name, text) {
  fs.writeFileSync(path.join(folder, name), text);
  return name;
}

/** Runs a script with memprof/register; its profiles, as {"function:line": live bytes}. */
function profiles(folder, script, { status = 0, option = '--require', env = {} } = {}) {
  const done = node(folder, [option, 'memprof/register', script], { ...EXACT, ...env });
  assert.strictEqual(done.status, status, done.stderr);
  return { done, all: profilesIn(folder).map((file) => rows(folder, file)) };
}

test('a program that ends by itself', (t) => {
  const folder = makeFolder(t);
  const { all, done } = profiles(folder, write(folder, 'app.js', KEEP));
  assertAbout(all[0]['keep:3'], BYTES);
  assert.strictEqual(done.stderr, '');
  assert.match(path.basename(profilesIn(folder)[0]), /^memprof\.node\.\d+\.pb\.gz$/);
});

test('an ES module, with --import', { skip: !hasImport && 'this node has no --import' }, (t) => {
  const folder = makeFolder(t);
  const { all } = profiles(folder, write(folder, 'app.mjs', `import * as memprof from 'memprof';\nif (!memprof.isActive()) throw 1;\n${KEEP}`), { option: '--import' });
  assertAbout(all[0]['keep:5'], BYTES);
});

test('process.exit, an uncaught exception, a rejection', (t) => {
  for (const [end, status, said] of [
    ['process.exit(3)', 3, /^$/], ["throw new Error('on purpose')", 1, /Error: on purpose/], ["Promise.reject(new Error('later'))", 1, /Error: later/],
    ["setTimeout(() => { throw new Error('in a timer') }, 1)", 1, /Error: in a timer/], ['process.exitCode = 5', 5, /^$/]]) {
    const folder = makeFolder(t);
    const { done, all } = profiles(folder, write(folder, 'app.js', KEEP + end), { status });
    assert.match(done.stderr, said);
    assertAbout(all[0]['keep:3'], BYTES);
  }
});

test('the file and the rate are those of the environment, and a file that is there stays', (t) => {
  const folder = makeFolder(t);
  write(folder, 'there.pb', 'precious');
  write(folder, 'app.js', `${KEEP}process.chdir('/'); console.log(require('memprof').stats().rateBytes)`);
  const first = node(folder, ['-r', 'memprof/register', 'app.js'], { MEMPROF_PROFILE: 'there.pb', MEMPROF_RATE: '4k' });
  assert.strictEqual(first.stdout, '4096\n');
  assert.match(first.stderr, /^memprof: the profile was not written: .*there\.pb is there already/);
  assert.strictEqual(fs.readFileSync(path.join(folder, 'there.pb'), 'utf8'), 'precious');
  const second = node(folder, ['-r', 'memprof/register', 'app.js'], { MEMPROF_PROFILE: 'new.pb.gz' });
  assert.strictEqual(second.stderr, '');
  assert.match(second.stdout, /^\d+\n$/);
  assert(Number(second.stdout) < 524288, 'it starts fine');
  assert(profilesIn(folder).includes(path.join(folder, 'new.pb.gz')));
});

test('worker threads are in the profile of their process', (t) => {
  const folder = makeFolder(t);
  const { all } = profiles(folder, write(folder, 'app.js', `\
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
${KEEP}
if (isMainThread) {
  const worker = new Worker(__filename);
  worker.on('message', () => { globalThis.snapshot = require('memprof').snapshot(); process.exit(); });
} else {
  const memprof = require('memprof');
  memprof.snapshotAsync().then((snapshot) => parentPort.postMessage(snapshot.topAllocators(1)[0].function));
  setInterval(() => {}, 1000);
}
`));
  assert.strictEqual(all.length, 1);
  assertAbout(all[0]['keep:4'], 2 * BYTES);
});

test('a worker that is terminated while a snapshot is taken', (t) => {
  const folder = makeFolder(t);
  write(folder, 'app.js', `\
const { Worker } = require('node:worker_threads');
const memprof = require('memprof');
memprof.start({ rateBytes: 0 });
async function once() {
  const worker = new Worker(\`
    const memprof = require('memprof');
    const kept = [];
    require('node:worker_threads').parentPort.postMessage(1);
    for (let i = 0; i < 3; i++) memprof.snapshotAsync().then((snapshot) => kept.push(snapshot));
  \`, { eval: true });
  await new Promise((resolve) => worker.once('message', resolve));
  await worker.terminate();
}
(async () => {
  for (let i = 0; i < 5; i++) await once();
  console.log(memprof.snapshot().liveSamples > 0);
})();
`);
  const done = node(folder, ['app.js']);
  assert.strictEqual(done.stderr, '');
  assert.strictEqual(done.stdout, 'true\n');
});

test('the processes of a cluster, and forked ones, have a profile each', (t) => {
  for (const [script, count] of [
    [`const cluster = require('node:cluster');
if (cluster.isPrimary) { cluster.fork(); cluster.fork(); } else { ${KEEP} setImmediate(() => cluster.worker.disconnect()); }`, 3],
    [`const { fork } = require('node:child_process');
if (process.argv[2]) { ${KEEP} process.exit(); } else { fork(__filename, ['child']); }`, 2]]) {
    const folder = makeFolder(t);
    const { all } = profiles(folder, write(folder, 'app.js', script));
    assert.strictEqual(all.length, count);
    const held = all.map((rowsOfOne) => Object.entries(rowsOfOne).find(([name]) => name.startsWith('keep:'))?.[1]).filter(Boolean);
    assert.strictEqual(held.length, count - 1);
    held.forEach((bytes) => assertAbout(bytes, BYTES));
  }
});

test('NODE_OPTIONS reaches programs that are spawned', (t) => {
  const folder = makeFolder(t);
  write(folder, 'child.js', KEEP);
  write(folder, 'app.js', "require('node:child_process').spawnSync(process.execPath, ['child.js'], { stdio: 'inherit' })");
  const done = node(folder, ['app.js'], { ...EXACT, NODE_OPTIONS: '--require memprof/register' });
  assert.strictEqual(done.status, 0, done.stderr);
  const held = profilesIn(folder).map((file) => rows(folder, file)['keep:3']);
  assert.strictEqual(held.length, 2);
  assertAbout(Math.max(...held.filter(Boolean)), BYTES);
});

test('under memprof run the library that is there is used', (t) => {
  const folder = makeFolder(t);
  write(folder, 'app.js', `\
const memprof = require('memprof');
${KEEP}
try { memprof.start(); } catch (error) { console.log(error.code, error.message); }
// Not the first: the sources of a Node.js that was built to read them from files are larger.
const kept = memprof.snapshot().topAllocators(10).find((place) => place.function === 'keep');
console.log(memprof.stats().hooks, kept.function, kept.line);
`);
  const done = run(folder, COMMAND, ['run', '-r', '0', '-o', 'run.pb.gz', '--', process.execPath, '--require', 'memprof/register', 'app.js']);
  assert.strictEqual(done.status, 0, done.stderr);
  assert.match(done.stdout, /^MEMPROF_ERR_STATE memprof\.start: it is active already \(by `memprof run`/);
  assert.match(done.stdout, /interposed keep 4\n$/);
  assert.deepStrictEqual(profilesIn(folder).map((file) => path.basename(file)), ['run.pb.gz']);
});

test('a platform without a binary is named', (t) => {
  const folder = makeFolder(t);
  write(folder, 'app.js', "Object.defineProperty(process, 'arch', { value: 'mips' }); try { require('memprof'); } catch (error) { console.log(error.code, error.message); }");
  assert.match(node(folder, ['app.js']).stdout, /^MEMPROF_ERR_NO_HOOKS memprof: there is no binary for linux-mips;/);
});
