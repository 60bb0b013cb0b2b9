// SPDX-License-Identifier: Apache-2.0
// An HTTP server that scales the picture of each request by a native addon (thumbnails.cc), which leaks: Node's own profilers see nothing of it.
//
//   c++ -O2 -g -std=c++17 -shared -fPIC -I /usr/include/node thumbnails.cc -o thumbnails.node
//   memprof run -o native.pb.gz -- node native_leak.js [REQUESTS [ADDON]]     # asks itself so many times, and ends
//   memprof leaks native.pb.gz                                                # names the line of the addon, and who called it
'use strict';

const http = require('node:http');
const path = require('node:path');

const { scale } = require(path.resolve(process.argv[3] || path.join(__dirname, 'thumbnails.node')));

function thumbnail(chunks) {
  return scale(Buffer.concat(chunks)); // a native function
}

function answer(request, response) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => response.end(`${thumbnail(chunks)}`));
}

function ask(agent, port, picture) {
  return new Promise((resolve, reject) => {
    const request = http.request({ agent, port, method: 'POST' }, (response) => {
      response.resume();
      response.on('end', resolve);
    });
    request.on('error', reject);
    request.end(picture);
  });
}

const server = http.createServer(answer);
server.listen(0, '127.0.0.1', async () => {
  const requests = Number(process.argv[2] || 400);
  const agent = new http.Agent({ keepAlive: true });
  const picture = Buffer.alloc(160_000, 'x');
  const begin = Date.now();
  for (let i = 0; i < requests; i++) {
    await ask(agent, server.address().port, picture);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, begin + 5 * i - Date.now()))); // one each 5 ms
  }
  console.log(`${requests} pictures`);
  process.exit();
});
