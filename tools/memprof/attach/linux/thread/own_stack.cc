// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/own_stack.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace memprof::cli {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLowestBytes = uint64_t{64} << 10;  // left to the thread's signal handlers

}  // namespace

OwnStack own_stack(const std::vector<MemoryRange>& ranges, uint64_t stack_pointer, uint64_t thread_pointer) {
  const MemoryRange* range = range_at(ranges, stack_pointer);
  if (range == nullptr || range == ranges.data() || !range->is_writable || !range->path.empty() ||
      thread_pointer <= stack_pointer || thread_pointer >= range->end) {
    return {};
  }
  const MemoryRange& guard = range[-1];
  if (guard.end != range->start || guard.is_writable || guard.is_code || !guard.path.empty()) return {};
  const uint64_t begin = range->start + kLowestBytes;
  const uint64_t end = (stack_pointer - kRedZoneBytes) / kPage * kPage;
  return begin < end ? OwnStack{begin, end} : OwnStack{};
}

bool is_of_c_library(pid_t thread) {
  void* head = nullptr;
  size_t bytes = 0;
  return syscall(SYS_get_robust_list, thread, &head, &bytes) == 0 && head != nullptr;
}

}  // namespace memprof::cli
