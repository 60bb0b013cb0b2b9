// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "platform/linux/memory/safe_read.h"
#include "platform/linux/memory/stack_bounds.h"
#include "platform/memory.h"
#include "platform/memory_areas.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

bool are_readable(uint64_t address, size_t size_bytes) {
  const uint64_t last = address + size_bytes - 1;
  for (uint64_t page = address & ~(kSmallestPage - 1); page <= last; page += kSmallestPage) {
    if (!is_readable(page)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool read_memory(uint64_t address, void* bytes, size_t size_bytes) {
  return !is_sandboxed() && read_memory_as(process_id(), address, bytes, size_bytes);
}

bool read_memory_as(uint32_t own_id, uint64_t address, void* bytes, size_t size_bytes) {
  if (size_bytes == 0 || address + size_bytes < address || is_sandboxed()) {
    return false;
  }
  iovec to{bytes, size_bytes};
  iovec from{reinterpret_cast<void*>(address), size_bytes};
  const int saved_errno = errno;
  const ssize_t got = process_vm_readv(static_cast<pid_t>(own_id), &to, 1, &from, 1, 0);
  const bool refused = got < 0 && (errno == ENOSYS || errno == EPERM || errno == EACCES);
  errno = saved_errno;
  if (refused && are_readable(address, size_bytes)) {
    // A sandbox without process_vm_readv.
    memcpy(bytes, reinterpret_cast<const void*>(address), size_bytes);
    return true;
  }
  return got == static_cast<ssize_t>(size_bytes);
}

}  // namespace memprof::platform
