"use strict";
// SPDX-License-Identifier: Apache-2.0
// A cache whose pages stay: source_maps_test.py finds them by these lines.
Object.defineProperty(exports, "__esModule", { value: true });
exports.refill = exports.pool = exports.Cache = void 0;
var Size;
(function (Size) {
    Size[Size["Small"] = 100000] = "Small";
    Size[Size["Large"] = 300000] = "Large";
})(Size || (Size = {}));
class Cache {
    prefix;
    pages = new Map();
    constructor(prefix) {
        this.prefix = prefix;
    }
    keep(id, make) {
        const page = make(id, Buffer.alloc(Size.Large, this.prefix)); // keeps large ones
        this.pages.set(id, page);
        return page;
    }
    get count() {
        return this.pages.size;
    }
}
exports.Cache = Cache;
function scratch() {
    return Buffer.alloc(Size.Small, 1); // keeps small ones
}
exports.pool = [];
async function refill(count) {
    for (let i = 0; i < count; i++) {
        await null;
        exports.pool.push(scratch());
    }
}
exports.refill = refill;
//# sourceMappingURL=cache.js.map