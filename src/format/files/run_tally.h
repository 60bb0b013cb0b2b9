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
    if (!is_of(slots[id % kSlots].exchange(slot_of(id, start), std::memory_order_relaxed), id, start)) {
      processes.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // And so is this one, which has only come to be.
  void note_new(uint64_t id, uint64_t start) {
    slots[id % kSlots].store(slot_of(id, start), std::memory_order_relaxed);
    processes.fetch_add(1, std::memory_order_relaxed);
  }
  // Whether it is remembered as one.
  bool has(uint64_t id, uint64_t start) const {
    return is_of(slots[id % kSlots].load(std::memory_order_relaxed), id, start);
  }

 private:
  // Units of process_start, on Linux a second: a process that has only come to be takes the time for its start.
  static constexpr uint64_t kSlack = 100;
  static constexpr uint64_t kStartBits = 40;
  static constexpr uint64_t kStarts = (uint64_t{1} << kStartBits) - 1;

  static uint64_t slot_of(uint64_t id, uint64_t start) { return (id + 1) << kStartBits | (start & kStarts); }
  static bool is_of(uint64_t slot, uint64_t id, uint64_t start) {
    const uint64_t apart = ((slot & kStarts) - start + kSlack) & kStarts;
    return slot >> kStartBits == slot_of(id, 0) >> kStartBits && apart <= 2 * kSlack;
  }
};
static_assert(sizeof(RunTally) == 65536 && std::is_standard_layout_v<RunTally>);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace memprof
