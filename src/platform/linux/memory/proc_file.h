// SPDX-License-Identifier: Apache-2.0
// Small files of /proc, by system calls: no point of cancellation, nothing allocated.
//
// Threads: any.  Not in a sandbox.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace memprof::platform {

// The begin of a file, as much as one read gives: bytes; 0: it cannot be read.
inline size_t read_proc(const char* path, char* text, size_t size_bytes) {
  const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  const long got = syscall(SYS_read, fd, text, size_bytes);
  syscall(SYS_close, fd);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

}  // namespace memprof::platform
