// SPDX-License-Identifier: Apache-2.0
// An HTTP server whose requests listen for an event and never stop: each closure keeps what its request had loaded. These are objects of
// JavaScript, in V8's own heap.
//
//   node --require memprof/register closures.js [REQUESTS]       # asks itself so many times, ten at once, and ends
//   memprof leaks memprof.node.*.pb.gz                           # names the function
//   memprof run --every 1s --record heap.series -- node closures.js 100000; memprof leaks heap.series      # and says that it grows
'use strict';

const { EventEmitter } = require('node:events');
const http = require('node:http');

const prices = new EventEmitter().setMaxListeners(0);
const CATALOGUE = JSON.stringify(Array.from({ length: 100 }, (_, id) => ({ id, name: `article ${id}`, tags: ['new', `group ${id % 7}`] })));

// V8 counts what an inlined function makes for the one that it is inlined into. The server's event has this function called, as it has
// others, so V8 does not inline it.
function answer(request, response) {
  const articles = JSON.parse(CATALOGUE);
  prices.on('change', (id, price) => { articles[id].price = price; }); // the leak: nobody ever calls off()
  response.end(`${articles.length} articles`);
}

const agent = new http.Agent({ keepAlive: true });

function ask(port) {
  return new Promise((resolve, reject) => {
    const request = http.get({ port, agent }, (response) => {
      response.resume();
      response.on('end', resolve);
    });
    request.on('error', reject);
  });
}

const server = http.createServer(answer);
server.listen(0, '127.0.0.1', async () => {
  const requests = Number(process.argv[2] || 2000);
  let left = requests;
  const client = async () => {
    while (left-- > 0) await ask(server.address().port);
  };
  await Promise.all(Array.from({ length: 10 }, client));
  console.log(`${requests} requests, ${prices.listenerCount('change')} listeners are kept`);
  process.exit();
});
