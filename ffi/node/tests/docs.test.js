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

test('the examples of docs/node.md', (t) => {
  const written = [...page.matchAll(/<!-- npm: expect (.*?) -->\s*```js\n(.*?)```/gs)].map(([, words, script]) => {
    const folder = makeFolder(t);
    const [name] = /\w+\.js/.exec(words);
    fs.writeFileSync(path.join(folder, name), script);
    const done = node(folder, [name]);
    assert.strictEqual(done.status, 0, done.stderr);
    for (const word of words.split(' | ')) assert(done.stdout.includes(word), `${word} is not in ${done.stdout}`);
    return fs.readdirSync(folder).filter((file) => /heapprofile|pb\.gz/.test(file)).length;
  });
  assert.deepStrictEqual(written, [2, 1]);
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
