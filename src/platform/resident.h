// SPDX-License-Identifier: Apache-2.0
// What is in memory of a process, this one or another: its map, its pages, its bytes.  Must not be called from a
// hook.  Own memory is looked at cheaply (about 1 ms a GiB); another process's by its page tables (some 40 ms a GiB,
// while what maps and unmaps memory there may have to wait).
//
// What holds for all services of the system: README.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

struct MemoryTotals {
  uint64_t resident_bytes = 0;  // the sum of the next three
  uint64_t anonymous_bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t shared_bytes = 0;
  uint64_t swap_bytes = 0;
};

// Opened by open_memory, closed by close_memory; one thread's.
struct MemoryView {
  uint64_t process_id = 0;
  bool is_own = false;
  int map = -1;
  int pages = -1;
};

// `process_id` 0: this one.  -EPERM also where this process is sandboxed.
int open_memory(uint64_t process_id, MemoryView* view);
void close_memory(MemoryView* view);

// Processor time that all threads of the process used; 0: it cannot be had.
uint64_t cpu_ns_of(const MemoryView& view);

int read_memory_totals(const MemoryView& view, MemoryTotals* totals);

// The next bytes of the text of its map, /proc/PID/smaps of another process, maps of this one; 0: its end, or it
// cannot be read.
size_t read_memory_map(const MemoryView& view, char* text, size_t size_bytes);

// How many bytes of [start, limit) are in memory.  Whole pages.
enum class PagesOf : uint8_t { kPrivate, kFile };
uint64_t pages_in_memory(const MemoryView& view, PagesOf what, uint64_t start, uint64_t limit);

// As read_memory (memory.h).
bool read_memory_of(const MemoryView& view, uint64_t address, void* bytes, size_t size_bytes);

}  // namespace memprof::platform
