// SPDX-License-Identifier: Apache-2.0
// Resident memory of this process.  May be called from a hook.
#include <errno.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/linux/memory/proc_file.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

struct ResidentPages {
  uint64_t all = 0;
  uint64_t files = 0;  // and shared memory
};

// The second and third number of /proc/self/statm; zeros: it cannot be read.
ResidentPages resident_pages() {
  ResidentPages pages;
  char text[128];
  const size_t size = read_proc("/proc/self/statm", text, sizeof(text));
  size_t at = 0;
  while (at < size && text[at] != ' ') {
    ++at;
  }
  uint64_t* const numbers[] = {&pages.all, &pages.files};
  for (uint64_t* const number : numbers) {
    for (++at; at < size && text[at] >= '0' && text[at] <= '9'; ++at) {
      *number = *number * 10 + static_cast<uint64_t>(text[at] - '0');
    }
  }
  return pages;
}

}  // namespace

uint64_t resident_bytes(uint64_t* max, uint64_t* files) {
  uint64_t unused = 0;
  files = files != nullptr ? files : &unused;
  *max = *files = 0;
  if (is_sandboxed()) {
    return 0;
  }
  const int error = errno;
  const ResidentPages pages = resident_pages();
  const uint64_t now = pages.all * getauxval(AT_PAGESZ);
  *files = pages.files * getauxval(AT_PAGESZ);
  rusage usage;
  if (syscall(SYS_getrusage, RUSAGE_SELF, &usage) == 0) {
    *max = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  }
  // The kernel notes the maximum lazily.
  *max = *max < now ? now : *max;
  errno = error;
  return now;
}

}  // namespace memprof::platform
