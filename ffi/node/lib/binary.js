// SPDX-License-Identifier: Apache-2.0
// Finds the prebuilt binary: prebuilds/PLATFORM-ARCH/memprof.glibc.node, as node-gyp-build lays them out.
'use strict';

const fs = require('node:fs');
const path = require('node:path');

function refused(why) {
  const error = new Error(`memprof: ${why}`);
  error.code = 'MEMPROF_ERR_NO_HOOKS';
  return error;
}

function load() {
  const name = `${process.platform}-${process.arch}`;
  const file = path.join(__dirname, '..', 'prebuilds', name, 'memprof.glibc.node');
  if (!fs.existsSync(file)) {
    throw refused(`there is no binary for ${name}; the package has them for Linux with glibc, x64 and arm64`);
  }
  try {
    return require(file);
  } catch (error) {
    if (error.code === 'ERR_DLOPEN_FAILED' && /musl|ld-linux/.test(error.message)) {
      throw refused(`this node is built for another C library than glibc, which is not supported (${error.message})`);
    }
    throw error;
  }
}

module.exports = load();
