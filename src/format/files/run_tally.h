// SPDX-License-Identifier: Apache-2.0
// How many processes of a run memprof was in: a file in the run's folder for arenas that `memprof run` makes and
// that each of them maps.  A process without a sample leaves nothing else behind.
//
// Threads, signals: lock-free.  fork: the memory is shared.
// Allocates: never.
// Model: a process counts once, however many programs it executes.  Who it is, its id and its start tell; the slots
// remember some thousand processes, so that one which executes another program after so many others had its slot
// counts again.
// Failure: who shortens the file ends the processes that write to it, so they map only what is their own user's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "format/hash.h"

namespace memprof {

inline constexpr char kRunTallyName[] = "processes.tally";

struct RunTally {
  static constexpr uint64_t kMagic = 0x594c4c41544f524d;  // "MROTALLY"
  static constexpr size_t kSlots = 8188;

  uint64_t magic;
  uint64_t run_token;  // as in the arenas of the run
  std::atomic<uint64_t> processes;
  uint64_t reserved;
  std::atomic<uint64_t> slots[kSlots];

  // The process `id`, which began at `start` (platform::process_start), is one of the run's.
  void note(uint64_t id, uint64_t start) {
    const uint64_t who = key_of(id, start);
    if (slots[id % kSlots].exchange(who, std::memory_order_relaxed) != who) {
      processes.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // Whether it is remembered as one.
  bool has(uint64_t id, uint64_t start) const {
    return slots[id % kSlots].load(std::memory_order_relaxed) == key_of(id, start);
  }

 private:
  static uint64_t key_of(uint64_t id, uint64_t start) { return mix_hash(start * kGolden + id) | 1; }
};
static_assert(sizeof(RunTally) == 65536 && std::is_standard_layout_v<RunTally>);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace memprof
