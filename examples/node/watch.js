// SPDX-License-Identifier: Apache-2.0
// A program that looks at itself: two snapshots, some work between them, and what grew by more than chance.
'use strict';

const memprof = require('memprof');

memprof.start({ rateBytes: 16 * 1024 });

const results = new Map();

function checksum(page) {
  return Buffer.from(page.toString('hex')).at(-1); // its memory comes and goes
}

function work(round) {
  for (let i = 0; i < 100; i++) {
    const page = Buffer.alloc(20_000, i);
    results.set(`${round}/${i}`, { page, sum: checksum(page) });
  }
}

work(0);
const before = memprof.snapshot();
for (let round = 1; round < 6; round++) work(round);
const after = memprof.snapshot();

for (const { function: name, file, line, growth, isSignificant } of memprof.diff(before, after).rows.slice(0, 3)) {
  if (isSignificant) console.log(`${name} ${file}:${line} grew by ${growth.value} bytes (95 %: ${growth.low} to ${growth.high})`);
}
before.dispose();
after.dispose();
