// SPDX-License-Identifier: Apache-2.0
// A cache whose pages stay: source_maps_test.py finds them by these lines.

export interface Page {
  id: number;
  body: Buffer;
}

enum Size {
  Small = 100_000,
  Large = 300_000,
}

export class Cache<T extends Page> {
  private readonly pages = new Map<number, T>();

  constructor(private readonly prefix: string) {}

  keep(
    id: number,
    make: (id: number, body: Buffer) => T,
  ): T {
    const page = make(id, Buffer.alloc(Size.Large, this.prefix)); // keeps large ones
    this.pages.set(id, page);
    return page;
  }

  get count(): number {
    return this.pages.size;
  }
}

function scratch(): Buffer {
  return Buffer.alloc(Size.Small, 1); // keeps small ones
}

export const pool: Buffer[] = [];

export async function refill(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await null;
    pool.push(scratch());
  }
}
