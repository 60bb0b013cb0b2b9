// SPDX-License-Identifier: Apache-2.0
'use strict';

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const COMMAND = process.env.MEMPROF; // the memprof command, which reads what the package writes
assert(COMMAND, 'MEMPROF is to be the path of the memprof command');

const [major, minor] = process.versions.node.split('.').map(Number);
const hasImport = major > 18 || (major === 18 && minor >= 18);

/** A folder of its own, with links to the packages, so that scripts in it find them. */
function makeFolder(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'memprof-node-'));
  fs.symlinkSync(path.join(__dirname, 'node_modules'), path.join(folder, 'node_modules'));
  t.after(() => remove(folder));
  return folder;
}

/** Removes a folder where processes that are ending may still write. rmSync's own retries list a folder once, and fail on what comes later. */
async function remove(folder) {
  for (let i = 1; ; i++) {
    try {
      return fs.rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (error.code !== 'ENOTEMPTY' || i === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Runs a program; its environment has no variables of memprof but those given. */
function run(folder, program, args, env = {}) {
  const plain = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(MEMPROF|NODE_|LD_PRELOAD)/.test(name)));
  const done = spawnSync(program, args, { cwd: folder, env: { ...plain, ...env }, encoding: 'utf8', maxBuffer: 1 << 28, timeout: 120_000 });
  assert.strictEqual(done.error, undefined);
  return done;
}

function node(folder, args, env) {
  return run(folder, process.execPath, args, env);
}

/** {"function:line": bytes} of a profile, by what each line of JavaScript holds or has allocated itself. */
function rows(folder, file, metric = 'live') {
  const done = run(folder, COMMAND, ['report', file, '--json', '--by', 'line', '--metric', metric]);
  assert.strictEqual(done.status, 0, done.stderr);
  const result = {};
  for (const row of JSON.parse(done.stdout).rows) {
    if (/\.[cm]?js$/.test(row.file)) result[`${row.name}:${row.line}`] = row.self[metric === 'live' ? 'inuse_space' : 'alloc_space'].value;
  }
  return result;
}

const profilesIn = (folder) => fs.readdirSync(folder).filter((name) => /\.pb(\.gz)?$/.test(name)).sort().map((name) => path.join(folder, name));

/** Fails unless `value` is between `least` and a hundredth more. */
function assertAbout(value, least) {
  assert(value >= least && value <= least * 1.01, `${value} is not about ${least}`);
}

module.exports = { COMMAND, assertAbout, hasImport, makeFolder, node, profilesIn, rows, run };
