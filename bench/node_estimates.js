// SPDX-License-Identifier: Apache-2.0
// Memory that is not JavaScript's, each kind made by a function of its own (bench/node_estimates).
'use strict';
const zlib = require('node:zlib');
const crypto = require('node:crypto');

const kept = [];
function makesBuffers() {
  for (let i = 0; i < 3000; i++) kept.push(Buffer.alloc(4000 + i));
}
function makesArrayBuffers() {
  for (let i = 0; i < 3000; i++) kept.push(new ArrayBuffer(3000 + i));
}
function makesTypedArrays() {
  for (let i = 0; i < 3000; i++) kept.push(new Float64Array(500 + i));
}
function packs() {
  const text = Buffer.alloc(100000, 'some text that is packed');
  for (let i = 0; i < 60; i++) kept.push(zlib.deflateSync(text).length);
}
function encrypts() {
  for (let i = 0; i < 4000; i++) {
    const cipher = crypto.createCipheriv('aes-256-gcm', Buffer.alloc(32, i), Buffer.alloc(12, i));
    kept.push(cipher.update(Buffer.alloc(100)).length + cipher.final().length);
    kept.push(crypto.createHash('sha512').update('x').digest().length);
  }
}
function asksSqlite() {
  const Database = require('better-sqlite3');
  const base = new Database(':memory:');
  base.exec('create table t (n integer primary key, text text)');
  const insert = base.prepare('insert into t values (?, ?)');
  for (let i = 0; i < 20000; i++) insert.run(i, 'row ' + i * 7919);
  for (let i = 0; i < 200; i++) kept.push(base.prepare('select text, count(*) from t where n % ? = 1 group by text limit 20').all(i + 3).length);
  kept.push(base);
}
async function resizes() {
  const sharp = require('sharp');
  sharp.concurrency(1);
  for (let i = 0; i < 12; i++) {
    const image = sharp({create: {width: 900, height: 700, channels: 3, background: {r: i, g: 50, b: 100}}});
    kept.push((await image.resize(300).png().toBuffer()).length);
  }
}

makesBuffers();
makesArrayBuffers();
makesTypedArrays();
packs();
encrypts();
asksSqlite();
resizes().then(() => console.log(kept.length));
