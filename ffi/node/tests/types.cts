// SPDX-License-Identifier: Apache-2.0
// The same package by require.
import memprof = require('memprof');

memprof.start({ rateBytes: 0 });
const heap: memprof.HeapProfile = memprof.heapProfile();
const state: 'active' | string = memprof.stats().state;
console.log(heap.head.children.length, state, memprof.version);
