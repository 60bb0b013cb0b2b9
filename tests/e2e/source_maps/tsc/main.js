"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
// SPDX-License-Identifier: Apache-2.0
const cache_1 = require("./cache");
const cache = new cache_1.Cache('x');
// A bundler has to call one of the two functions of this name something else.
function scratch() {
    return Buffer.concat([
        Buffer.alloc(500_000, 1),
    ]);
}
function fill(count) {
    for (let id = 0; id < count; id++) {
        cache.keep(id, (at, body) => ({ id: at, body }));
    }
    return scratch();
}
const kept = fill(20);
(0, cache_1.refill)(20).then(() => console.log(cache.count, cache_1.pool.length, kept.length));
//# sourceMappingURL=main.js.map