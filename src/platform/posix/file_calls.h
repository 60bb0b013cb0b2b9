// SPDX-License-Identifier: Apache-2.0
// The loops of file_write and file_read (platform/files.h).  How a system is called is the caller's: by functions
// of libc, or by number, past them.  A call that fails returns -1 and sets errno.
//
// Threads: no state.
#pragma once

#include <errno.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

// Of file_map: a file that no other user than `user` can shorten.
inline bool is_own_file(const struct stat& status, uid_t user, size_t size_bytes) {
  return S_ISREG(status.st_mode) && status.st_uid == user && status.st_size == static_cast<off_t>(size_bytes);
}

// `write_some(at, size_bytes)`: how many bytes it wrote.
template <typename WriteSome>
int write_all(const void* data, size_t size_bytes, WriteSome write_some) {
  const char* at = static_cast<const char*>(data);
  while (size_bytes > 0) {
    const long written = write_some(at, size_bytes);
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return -errno;
    }
    at += written;
    size_bytes -= static_cast<size_t>(written);
  }
  return 0;
}

// `read_some(at, size_bytes, offset)`: how many bytes it read; 0: the file ends there.
template <typename ReadSome>
bool read_all(uint64_t offset, void* bytes, size_t size_bytes, ReadSome read_some) {
  char* at = static_cast<char*>(bytes);
  while (size_bytes > 0) {
    const long got = read_some(at, size_bytes, offset);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    at += got;
    offset += static_cast<uint64_t>(got);
    size_bytes -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace memprof::platform
