// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/memory/own_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>

#include "platform/linux/memory/system_call.h"

namespace memprof::platform {
namespace {

// Relaxed: who looks for a note is told what is mapped by the system, and only asks whose it is.
struct Note {
  std::atomic<uint64_t> start;  // 0: free
  std::atomic<uint64_t> size_bytes;
};
constexpr uint32_t kNotes = 128;
Note g_notes[kNotes];

// By system call, so that hooks on these functions, which may be ours, do not see them.  ThreadSanitizer has to:
// else it takes what lies in new pages for what lay there in old ones.
#if defined(__SANITIZE_THREAD__)
constexpr bool kByFunction = true;
#else
constexpr bool kByFunction = false;
#endif

uint64_t word(const void* p) {
  return reinterpret_cast<uint64_t>(p);
}

}  // namespace

void note_own(const void* start, size_t new_bytes) {
  for (Note& note : g_notes) {
    if (note.start.load(std::memory_order_relaxed) == word(start)) {
      return note.size_bytes.store(new_bytes, std::memory_order_relaxed);
    }
  }
  for (Note& note : g_notes) {
    uint64_t expected = 0;
    if (note.start.compare_exchange_strong(expected, word(start), std::memory_order_relaxed)) {
      return note.size_bytes.store(new_bytes, std::memory_order_relaxed);
    }
  }
}

void* map_own(void* place, size_t size_bytes, int protection, int flags, int file, off_t offset) {
  if constexpr (kByFunction) {
    void* const start = mmap(place, size_bytes, protection, flags, file, offset);
    if (start != MAP_FAILED) note_own(start, size_bytes);
    return start;
  }
  const long got = system_call(SYS_mmap, reinterpret_cast<long>(place), static_cast<long>(size_bytes),
                               protection, flags, file, offset);
  if (got == -1) {
    return MAP_FAILED;
  }
  void* const start = reinterpret_cast<void*>(got);
  note_own(start, size_bytes);
  return start;
}

int unmap_own(void* start, size_t size_bytes) {
  for (Note& note : g_notes) {
    if (note.start.load(std::memory_order_relaxed) == word(start)) {
      note.size_bytes.store(0, std::memory_order_relaxed);
      note.start.store(0, std::memory_order_relaxed);
    }
  }
  if constexpr (kByFunction) return munmap(start, size_bytes);
  return static_cast<int>(
      system_call(SYS_munmap, reinterpret_cast<long>(start), static_cast<long>(size_bytes), 0, 0, 0, 0));
}

bool is_own(uint64_t start, uint64_t* limit) {
  for (const Note& note : g_notes) {
    const uint64_t at = note.start.load(std::memory_order_relaxed);
    const uint64_t end = at + note.size_bytes.load(std::memory_order_relaxed);
    if (at != 0 && at <= start && start < end) {
      if (limit != nullptr) {
        *limit = end;
      }
      return true;
    }
  }
  return false;
}

uint64_t next_own(uint64_t start, uint64_t limit) {
  for (const Note& note : g_notes) {
    const uint64_t at = note.start.load(std::memory_order_relaxed);
    limit = at > start && at < limit ? at : limit;
  }
  return limit;
}

}  // namespace memprof::platform
