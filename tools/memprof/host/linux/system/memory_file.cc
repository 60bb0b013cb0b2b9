// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/system/memory_file.h"

#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace memprof::cli {

// By number: glibc has a function for it since 2.27 only.
int make_memory_file() {
  return static_cast<int>(syscall(SYS_memfd_create, "memprof", MFD_CLOEXEC));
}

}  // namespace memprof::cli
