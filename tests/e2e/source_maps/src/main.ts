// SPDX-License-Identifier: Apache-2.0
import { Cache, pool, refill, type Page } from './cache';

const cache = new Cache<Page>('x');

// A bundler has to call one of the two functions of this name something else.
function scratch(): Buffer {
  return Buffer.concat([
    Buffer.alloc(
      500_000,
      1,
    ),
  ]);
}

function fill(count: number): Buffer {
  for (let id = 0; id < count; id++) {
    cache.keep(id, (at, body) => ({ id: at, body }));
  }
  return scratch();
}

const kept: Buffer = fill(20);
refill(20).then(() => console.log(cache.count, pool.length, kept.length));
