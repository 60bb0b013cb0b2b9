// SPDX-License-Identifier: Apache-2.0
// An HTTP server that keeps the body of each request that it should have answered and forgotten.
//
//   node --require memprof/register server.js [REQUESTS]     # asks itself so many times, and ends
//   memprof leaks memprof.node.*.pb.gz                       # names the line
'use strict';

const http = require('node:http');

const seen = [];

function remember(chunks) {
  const body = Buffer.concat(chunks); // the leak: nobody ever takes it out of `seen`
  seen.push(body);
  return body;
}

function answer(request, response) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    response.end(`${remember(chunks).length} bytes`);
  });
}

function ask(port, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, method: 'POST' }, (response) => {
      response.resume();
      response.on('end', resolve);
    });
    request.on('error', reject);
    request.end(body);
  });
}

const server = http.createServer(answer);
server.listen(0, '127.0.0.1', async () => {
  const requests = Number(process.argv[2] || 400);
  const body = Buffer.alloc(40_000, 'x');
  const begin = Date.now();
  for (let i = 0; i < requests; i++) {
    await ask(server.address().port, body);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, begin + 5 * i - Date.now()))); // one each 5 ms
  }
  console.log(`${requests} requests, ${seen.length} bodies are kept`);
  process.exit();
});
