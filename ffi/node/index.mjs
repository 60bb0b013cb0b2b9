// SPDX-License-Identifier: Apache-2.0
import memprof from './index.js';

export const { Snapshot, diff, heapProfile, isActive, javascriptHeap, resetPeak, shutdown, snapshot, snapshotAsync, start, stats, stop, version, writeProfile, writeProfileAsync } = memprof;
export default memprof;
