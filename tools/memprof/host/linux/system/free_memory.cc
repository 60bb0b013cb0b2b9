// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/system/free_memory.h"

#include <malloc.h>

namespace memprof::cli {

void give_back_free_memory() {
  static_cast<void>(malloc_trim(0));
}

}  // namespace memprof::cli
