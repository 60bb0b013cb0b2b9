// SPDX-License-Identifier: Apache-2.0
// The package is laid out as node-gyp-build has it: bundlers and packagers that know that layout find the binary. node-gyp-build is a
// development dependency of ffi/node (`npm ci` there, as ./dev npm does); the package itself does without.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');

const gyp = path.join(process.env.MEMPROF_SOURCE, 'ffi', 'node', 'node_modules', 'node-gyp-build');
const missing = fs.existsSync(gyp) ? false : 'node-gyp-build is not installed: `npm ci` in ffi/node does it';

test('node-gyp-build finds and loads the binary that the package loads', { skip: missing }, () => {
  const load = require(gyp);
  const folder = path.dirname(require.resolve('memprof/package.json'));
  const found = load.path(folder);
  assert.strictEqual(found, path.join(folder, 'prebuilds', `${process.platform}-${process.arch}`, 'memprof.glibc.node'));
  assert.strictEqual(load(folder), require(path.join(folder, 'lib', 'binary.js')));
});
