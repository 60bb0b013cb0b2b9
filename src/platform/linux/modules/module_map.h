// SPDX-License-Identifier: Apache-2.0
// The segments of the loaded modules, for C libraries that cannot be asked without a lock (no
// _dl_find_object: glibc before 2.35, musl).
//
// Model: an immutable, sorted snapshot of what the kernel says is mapped (/proc/self/maps) and what the
// headers at the start of each module say.  A lookup that finds nothing, or a module whose first bytes are no
// longer those that the snapshot saw, makes a new one; the loader is never asked, so its locks do not matter
// (docs/decisions/0009).  Two snapshots take turns: a reader copies what it found and then looks whether its
// snapshot is still the current one.
//
//     number n  ->  snapshot n % 2 is the current one; the other one is written to, then n + 1
//
// Making one costs 0.1 to 1 ms.  Those that bring what was asked for are no more than the program's own
// dlopens; those in vain (an address in the code of a just-in-time compiler) together take no more than 1/32
// of the time, and 0.1 s to begin with.
//
// Threads: any number; one makes a snapshot, others that miss meanwhile wait a moment for it.
// Signals: safe; all are blocked while a snapshot is made.
// Allocates: pages of its own, 3 MiB of which what is used gets memory.
// Failure: "not found": there is no /proc, more than kMaxSegments, or the credit is used up.
#pragma once

#include <atomic>
#include <cstdint>

namespace memprof::platform {

struct LoadedSegment {
  uint64_t start;  // start <= address < limit, whole pages
  uint64_t limit;
  uint64_t bias;     // load address minus address in the file
  uint64_t base;     // address of the ELF header
  uint64_t headers;  // address of the program headers
  uint64_t header_count;
  uint64_t eh_frame;     // address of .eh_frame_hdr; 0: none
  uint64_t fingerprint;  // of the first bytes at `base`
  const char* path;      // valid for ever
};

class ModuleMap {
 public:
  static constexpr uint32_t kMaxSegments = 16384;

  // The segment of a loaded module that contains `address`, as of now.
  bool find(uint64_t address, LoadedSegment* segment);

  // In a fork child: nobody is making a snapshot.
  void reset_in_child() { is_renewing_.store(false, std::memory_order_release); }

  // How many snapshots were made.
  uint64_t renewals() const { return number_.load(std::memory_order_relaxed); }

  // Whether `path` (of a list as /proc/self/maps) could be read.  For tests; find() does it by itself.
  bool renew(const char* path);

 private:
  struct Memory;
  struct Snapshot;
  class Writer;

  bool look_up(uint64_t address, LoadedSegment* segment) const;
  bool has_credit(uint64_t now_ns);
  void wait_for_renewal() const;

  std::atomic<Memory*> memory_{nullptr};
  std::atomic<uint64_t> number_{0};
  std::atomic<bool> is_renewing_{false};
  // What may yet be spent in vain.
  std::atomic<uint64_t> credit_time_ns_{0};
  std::atomic<int64_t> credit_ns_{kMaxCreditNs};
  static constexpr int64_t kMaxCreditNs = 100000000;
};

// The process's map: zero-initialised or constant, so valid before any code of ours ran.
extern ModuleMap g_module_map __attribute__((visibility("hidden")));

}  // namespace memprof::platform
