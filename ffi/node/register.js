// SPDX-License-Identifier: Apache-2.0
// `node --import memprof/register app.js`, or --require: records from before the program's first line, and writes the profile when the
// program ends.  The MEMPROF_* variables say how (docs/running.md); the profile is MEMPROF_PROFILE, or memprof.%n.%p.pb.gz in the
// folder that the program was started in.
'use strict';

const path = require('node:path');
const { isMainThread } = require('node:worker_threads');

function say(message) {
  process.stderr.write(`memprof: ${message}\n`);
}

function writeAtEnd(native, heap, file) {
  try {
    native.writeProfile(file, 0, ...heap.content());
  } catch (error) {
    say(`the profile was not written: ${error.message}`);
  }
}

// Workers are threads of the process that is profiled already; in one that `memprof run` started all is done.
// A program never fails because of what this cannot do.
function register() {
  const native = require('./lib/binary.js');
  if (native.wasThere) return;
  const heap = require('./lib/javascript_heap.js');
  native.start(null);
  // Without a rate or a budget it starts fine; V8's own rate cannot change.
  const { MEMPROF_RATE, MEMPROF_BUDGET, MEMPROF_NODE } = process.env;
  if (MEMPROF_NODE !== '0') heap.start(MEMPROF_RATE || MEMPROF_BUDGET ? native.stats().rateBytes : 512 * 1024);
  const file = path.resolve(process.env.MEMPROF_PROFILE || 'memprof.%n.%p.pb.gz');
  // The first listener, before those of the program: it holds what the program held.
  process.on('exit', () => writeAtEnd(native, heap, file));
}

if (isMainThread) {
  try {
    register();
  } catch (error) {
    say(`not profiling: ${error.message}`);
  }
}
