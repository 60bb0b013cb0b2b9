// SPDX-License-Identifier: Apache-2.0
// What users write, for the compiler: each line marked as an error must be one.
import { writeFileSync } from 'node:fs';
import memprof, { diff, start, type ErrorCode, type Estimate, type Snapshot, type StartOptions } from 'memprof';

const options: StartOptions = { rateBytes: 65536, budget: '0.5%' };
start(options);
// @ts-expect-error: no such option
start({ rateByte: 1 });
// @ts-expect-error: KiB are not what it takes
memprof.start('64k');

const before: Snapshot = memprof.snapshot();
const after = await memprof.snapshotAsync();
const growth: Estimate = diff(before, after).growth;
for (const place of after.topAllocators(5, { metric: 'temporary', youngerMs: 1 })) {
  console.log(`${place.function} ${place.file}:${place.line} ${place.estimatedBytes.value} ${place.stack.length} ${growth.low}`);
}
// @ts-expect-error: no such metric
after.topAllocators(5, { metric: 'most' });
// @ts-expect-error: snapshots are taken, not made
new memprof.Snapshot();
writeFileSync('out.heapprofile', JSON.stringify(after.heapProfile({ allFrames: true })));
const peak: number | undefined = after.peak?.estimatedBytes.value;
try {
  await memprof.writeProfileAsync('heap.%p.pb.gz', { overwrite: true });
} catch (error) {
  const code: ErrorCode = (error as { code: ErrorCode }).code;
  console.log(code === 'MEMPROF_ERR_EXISTS', peak, memprof.stats().state === 'active');
}
before.dispose();
