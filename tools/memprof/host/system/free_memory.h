// SPDX-License-Identifier: Apache-2.0
// Memory of this process that it has freed and keeps.
//
// Threads: any.
#pragma once

namespace memprof::cli {

// Gives it back to the system, as far as that can be done.
void give_back_free_memory();

}  // namespace memprof::cli
