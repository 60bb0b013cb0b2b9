// SPDX-License-Identifier: Apache-2.0
// "Can this address be a live sample?"  One probe, asked on every free; it can forget.
//
// Model: an array of small counters, one for each KiB of address space, modulo 4 GiB:
//     address  ................ 31 ........................ 10 9 ........ 0
//                               `------- index, 22 bits -----' `-- same --'
// mark adds 1, unmark takes 1 away, a free of an address whose counter is 0 is not a sample.  Neighbours in
// memory share a counter (so few cache lines are touched, and pages of counters without a sample all are the
// kernel's one zero page); with R = 512 KiB a KiB around a sample has a false positive for 0.2 % of the
// frees. A counter that reaches 255 stays there: it can no longer forget, which costs time, never an answer.
//
// There is never a false negative: mark happens before malloc returns the block, and whoever frees it got the
// address from there.
//
// Threads: all operations may race.  Relaxed order suffices: a free of a block happens after its malloc by
// the program's own synchronisation. Signals, fork: a child has its own copy.  Allocates: never (4 MiB of
// zero pages, resident where touched).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memprof {

class SampledFilter {
 public:
  static constexpr int kGranuleBits = 10;
  static constexpr size_t kSlots = size_t{1} << (32 - kGranuleBits);
  static constexpr uint8_t kSaturated = 255;

  bool may_contain(const void* address) const {
    return slots_[index(reinterpret_cast<uintptr_t>(address))].load(std::memory_order_relaxed) != 0;
  }

  // One more sample there.  true: this call saturated the slot.
  bool mark(uintptr_t address);
  // One sample less.
  void unmark(uintptr_t address);
  // For ever, without a sample: addresses that need the slow path of free for another reason.
  void mark_permanently(uintptr_t first, size_t size_bytes);

  const void* memory() const { return slots_; }
  static constexpr size_t memory_bytes() { return kSlots; }

 private:
  static size_t index(uintptr_t address) { return static_cast<uint32_t>(address) >> kGranuleBits; }

  std::atomic<uint8_t> slots_[kSlots];
};

// The process's filter: zero-initialised, so it is valid before any code of ours ran.
extern SampledFilter g_sampled_filter __attribute__((visibility("hidden")));

}  // namespace memprof
