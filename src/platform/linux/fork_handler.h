// SPDX-License-Identifier: Apache-2.0
// What a fork child needs: a clock of its own, and no belief that it is its parent.
#pragma once

namespace memprof::platform {

// Registers the handler, once, from a constructor (it takes the C library's lock).
void watch_forks();

}  // namespace memprof::platform
