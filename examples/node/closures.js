// SPDX-License-Identifier: Apache-2.0
// A cache whose listeners are never taken off again: each closure keeps its request. They are objects of JavaScript, in V8's own heap.
//
//   node --require memprof/register closures.js [REQUESTS]       # makes so many, and ends
//   memprof report memprof.node.*.pb.gz --metric js              # names the function
'use strict';

const { EventEmitter } = require('node:events');

const cache = new EventEmitter().setMaxListeners(0);

function subscribe(request) {
  cache.on('expired', () => request.fields.clear()); // the leak: nobody ever calls off()
}

function handle(id) {
  const request = { id, fields: new Map([['path', `/items/${id}`], ['user', `user ${id}`]]) };
  subscribe(request);
  return request.fields.size;
}

process.on('exit', () => console.log(`${cache.listenerCount('expired')} listeners are kept`));
const requests = Number(process.argv[2] || 50_000);
for (let i = 0; i < requests; i++) handle(i);
