// SPDX-License-Identifier: Apache-2.0
// The programs of examples/node say what they are to say.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const { COMMAND, makeFolder, node, profilesIn, rows, run } = require('./helpers.js');

const folderOf = (t, name) => {
  const folder = makeFolder(t);
  const text = fs.readFileSync(path.join(process.env.MEMPROF_SOURCE, 'examples', 'node', name), 'utf8');
  fs.writeFileSync(path.join(folder, name), text);
  return { folder, lineOf: (words) => text.split('\n').findIndex((line) => line.includes(words)) + 1 };
};

test('memprof leaks names the line of a server that keeps Buffers', (t) => {
  const { folder, lineOf } = folderOf(t, 'server.js');
  const done = node(folder, ['--require', 'memprof/register', 'server.js'], { MEMPROF_RATE: '16k' });
  assert.strictEqual(done.stdout, '400 requests, 400 bodies are kept\n', done.stderr);
  // Whether it says "leak" depends on how evenly the machine let the program run: the line is that of what holds the most, in any case.
  const [file] = profilesIn(folder);
  const line = `remember:${lineOf('the leak')}`;
  assert.strictEqual(Object.entries(rows(folder, file)).sort((a, b) => b[1] - a[1])[0][0], line);
  const leaks = run(folder, COMMAND, ['leaks', file]);
  assert.strictEqual(leaks.stderr, '');
  assert.match(leaks.stdout, new RegExp(`remember .*server\\.js:${lineOf('the leak')}`));
});

test("closures that are kept are in JavaScript's heap, by function", (t) => {
  const { folder, lineOf } = folderOf(t, 'closures.js');
  // What V8 inlines counts for the function that it is inlined into.
  const noInlining = ['--no-opt', ...(Number(process.versions.node.split('.')[0]) >= 22 ? ['--no-maglev'] : [])];
  const done = node(folder, [...noInlining, '--require', 'memprof/register', 'closures.js'], { MEMPROF_RATE: '16k' });
  assert.strictEqual(done.stdout, '50000 listeners are kept\n', done.stderr);
  const [file] = profilesIn(folder);
  const shown = run(folder, COMMAND, ['report', file, '--json', '--metric', 'js']);
  const [first, second] = JSON.parse(shown.stdout).rows; // the closures, and the requests that they keep
  const place = ({ name, line }) => `${name}:${line}`;
  assert.deepStrictEqual([place(first), place(second)].sort(), [`handle:${lineOf('function handle')}`, `subscribe:${lineOf('function subscribe')}`]);
});

test('a program that compares two snapshots of itself', (t) => {
  const { folder, lineOf } = folderOf(t, 'watch.js');
  const done = node(folder, ['watch.js']);
  assert.match(done.stdout, new RegExp(`^work .*watch\\.js:${lineOf('Buffer.alloc(')} grew by \\d+ bytes`, 'm'), done.stderr);
});
