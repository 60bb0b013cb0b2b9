// SPDX-License-Identifier: Apache-2.0
// "Can this address be a live sample?"  One probe, asked on every free; it can forget.
//
// Model: an array of bytes, one for each KiB of address space, modulo 4 GiB:
//     address  ................ 31 ........................ 10 9 ...... 4 3 .. 0
//                               `------- index, 22 bits -----' `-- place -'
//     0           no sample there
//     1 + place   one, in this sixteenth of 1024 bytes
//     64 + n      n of them, in places that are not known
//     255         more than can be counted: it can no longer forget, which costs time, never an answer
// A free of an address whose byte is 0 is not a sample: what the fast path asks.  Neighbours in memory share
// a byte (so few cache lines are touched, and pages of bytes without a sample all are the kernel's one zero
// page); what freed a neighbour of a sample learns from the place, nearly always, that it is not meant,
// before it touches a table.
//
// There is never a false negative: mark happens before malloc returns the block, and whoever frees it got the
// address from there.
//
// Threads: all operations may race.  Relaxed order suffices: a free of a block happens after its malloc by
// the program's own synchronisation.
// Signals, fork: a child has its own copy.
// Allocates: never (4 MiB of zero pages, resident where touched).
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

  // One load, one test: the fast path.
  bool may_contain(const void* address) const {
    return slots_[index(reinterpret_cast<uintptr_t>(address))].load(std::memory_order_relaxed) != 0;
  }

  // The same, with the place: for who was told "maybe".
  bool may_be(const void* address) const {
    const uintptr_t a = reinterpret_cast<uintptr_t>(address);
    const uint8_t slot = slots_[index(a)].load(std::memory_order_relaxed);
    return slot > kPlaces || slot == place(a);
  }

  // Where in the granule of `address` a sample can begin: addresses first <= a < first + count.
  struct Candidates {
    uint64_t first;
    uint64_t count;
  };
  Candidates candidates(uint64_t address) const {
    const uint64_t granule = address >> kGranuleBits << kGranuleBits;
    const uint8_t slot = slots_[index(address)].load(std::memory_order_relaxed);
    return slot == 0        ? Candidates{granule, 0}
           : slot > kPlaces ? Candidates{granule, uint64_t{1} << kGranuleBits}
                            : Candidates{granule + (slot - 1) * kPlaceBytes, kPlaceBytes};
  }
  static uint64_t next_granule(uint64_t address) { return ((address >> kGranuleBits) + 1) << kGranuleBits; }

  void prefetch(const void* address) const {
    __builtin_prefetch(&slots_[index(reinterpret_cast<uintptr_t>(address))], 1);
  }

  // One more sample there.  true: this call saturated the slot.
  bool mark(uintptr_t address);
  // One sample less.
  void unmark(uintptr_t address);
  // For ever, without a sample: addresses that need the slow path of free for another reason.
  void mark_permanently(uintptr_t first, size_t size_bytes);

  // All but what can no longer forget.  Only where nobody marks or unmarks meanwhile.
  void clear();

  const void* memory() const { return slots_; }
  static constexpr size_t memory_bytes() { return kSlots; }

 private:
  static constexpr uint8_t kPlaces = 64;
  static constexpr uint64_t kPlaceBytes = 16;
  static size_t index(uintptr_t address) { return static_cast<uint32_t>(address) >> kGranuleBits; }
  static uint8_t place(uintptr_t address) { return static_cast<uint8_t>(1 + (address >> 4) % kPlaces); }

  std::atomic<uint8_t> slots_[kSlots];
};

// The process's filter: zero-initialised, so it is valid before any code of ours ran.
extern SampledFilter g_sampled_filter __attribute__((visibility("hidden")));

}  // namespace memprof
