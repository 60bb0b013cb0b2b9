// SPDX-License-Identifier: Apache-2.0
// The examples of the pages that need this package: a comment `npm: expect A | B` stands before them (tests/checks/docs.py runs all others).
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const { makeFolder, node } = require('./helpers.js');

const page = fs.readFileSync(path.join(process.env.MEMPROF_SOURCE, 'docs', 'node.md'), 'utf8');
const readme = fs.readFileSync(require.resolve('memprof/README.md'), 'utf8');

test('the example of docs/node.md', (t) => {
  const [, words, script] = /<!-- npm: expect (.*?) -->\s*```js\n(.*?)```/s.exec(page);
  const folder = makeFolder(t);
  fs.writeFileSync(path.join(folder, 'api.js'), script);
  const done = node(folder, ['api.js']);
  assert.strictEqual(done.status, 0, done.stderr);
  for (const word of words.split(' | ')) assert(done.stdout.includes(word), `${word} is not in ${done.stdout}`);
  assert.deepStrictEqual(fs.readdirSync(folder).filter((name) => /heapprofile|pb\.gz/.test(name)).length, 2);
});

test("the package's own example", (t) => {
  const folder = makeFolder(t);
  const [, script] = /```js\n(.*?)```/s.exec(readme);
  fs.writeFileSync(path.join(folder, 'first.js'), script.replace('// ...', 'globalThis.kept = Buffer.alloc(1e8); // ...'));
  const done = node(folder, ['first.js']);
  assert.strictEqual(done.status, 0, done.stderr);
  assert.match(done.stdout, /^10[0-5]\d{6} bytes: \(top level\) .*first\.js:1$/m);
  assert(fs.existsSync(path.join(folder, 'heap.pb.gz')));
});
