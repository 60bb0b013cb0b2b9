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
    const copy = Buffer.from(remember(chunks)); // gone when it is sent
    response.end(copy);
  });
}

function ask(port, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, method: 'POST' }, (response) => {
      let bytes = 0;
      response.on('data', (chunk) => { bytes += chunk.length; });
      response.on('end', () => resolve(bytes));
    });
    request.on('error', reject);
    request.end(body);
  });
}

const server = http.createServer(answer);
server.listen(0, '127.0.0.1', async () => {
  const requests = Number(process.argv[2] || 1000);
  const body = Buffer.alloc(20_000, 'x');
  for (let i = 0; i < requests; i++) await ask(server.address().port, body);
  console.log(`${requests} requests, ${seen.length} bodies are kept`);
  process.exit();
});
