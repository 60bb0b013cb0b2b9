// SPDX-License-Identifier: Apache-2.0
// How many processes of a run memprof was in, and which programs they executed that it did not begin in: a file in the
// run's folder for arenas that `memprof run` makes and that each of them maps.  A process without a sample leaves nothing
// else behind, and one without memprof that lives less than the time between two looks at /proc nothing at all.
//
// Threads, signals: lock-free.  fork, vfork: the memory is shared.
// Allocates: never.
// Model: a process counts once, however many programs it executes.  Who it is, its id and its start tell; the slots
// remember some thousand processes, so that one which executes another program after so many others had its slot
// counts again.  A program is noted by who executes it, and its note is taken back where memprof begins in it, or
// where it could not be executed.
// Failure: who shortens the file ends the processes that write to it, so they map only what is their own user's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memprof {

inline constexpr char kRunTallyName[] = "processes.tally";

struct RunTally {
  static constexpr uint64_t kMagic = 0x32594c4c41544f52;  // "ROTALLY2"
  static constexpr size_t kSlots = 8187;
  static constexpr size_t kPrograms = 256;

  // The last program that a process with this place executed.  `when_ns` is 0 while it is written.
  struct Program {
    std::atomic<uint64_t> when_ns;  // platform::monotonic_ns
    std::atomic<uint64_t> process;  // its slot, as it was then
    std::atomic<char> path[112];    // as it was given to exec; ends at a zero, or where it is full
  };
  // Who a slot tells of.
  struct Process {
    uint64_t id;
    uint64_t start;
  };

  uint64_t magic;
  uint64_t run_token;  // as in the arenas of the run
  uint64_t
      pid_namespace;  // of who reads it: programs are noted there only, as ids mean other processes elsewhere
  std::atomic<uint64_t> processes;
  std::atomic<uint64_t> executing;  // programs that memprof did not begin in, yet
  std::atomic<uint64_t> slots[kSlots];
  Program programs[kPrograms];

  // The process `id`, which began at `start` (platform::process_start), is one of the run's: memprof begins in it.
  void note(uint64_t id, uint64_t start) {
    const uint64_t old =
        slots[id % kSlots].exchange(slot_of(id, start) | kCounted, std::memory_order_relaxed);
    const bool is_same = is_of(old, id, start);
    // Of one that was not counted, its start is when it executed the program.
    if ((old & kExecuting) != 0 && (is_same || ((old & kCounted) == 0 && id_of(old) == id))) {
      executing.fetch_sub(1, std::memory_order_relaxed);
    }
    if (!is_same || (old & kCounted) == 0) {
      processes.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // And so is this one, which has only come to be.
  void note_new(uint64_t id, uint64_t start) {
    slots[id % kSlots].store(slot_of(id, start) | kCounted, std::memory_order_relaxed);
    processes.fetch_add(1, std::memory_order_relaxed);
  }
  // Whether it is remembered as one.
  bool has(uint64_t id, uint64_t start) const {
    const uint64_t slot = slots[id % kSlots].load(std::memory_order_relaxed);
    return is_of(slot, id, start) && (slot & kCounted) != 0;
  }

  // The process is about to execute the program.  `is_counted`: it was noted, with this start; otherwise `start` is now.
  void note_program(uint64_t id, uint64_t start, bool is_counted, const char* path, uint64_t now_ns) {
    const uint64_t slot = slot_of(id, start) | (is_counted ? kCounted : 0) | kExecuting;
    name_program(id, slot, path, now_ns);
    const uint64_t old = slots[id % kSlots].exchange(slot, std::memory_order_relaxed);
    if (!is_of(old, id, start) || (old & kExecuting) == 0) {
      executing.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // It could not.
  void take_program_back(uint64_t id) {
    std::atomic<uint64_t>& slot = slots[id % kSlots];
    uint64_t old = slot.load(std::memory_order_relaxed);
    while (id_of(old) == id && (old & kExecuting) != 0) {
      if (slot.compare_exchange_weak(old, old & ~kExecuting, std::memory_order_relaxed)) {
        executing.fetch_sub(1, std::memory_order_relaxed);
      }
    }
  }
  // A new process, made at `start` or a little later, executes the program (posix_spawn); memprof may have begun in it.
  void note_spawned(uint64_t id, uint64_t start, const char* path, uint64_t now_ns) {
    std::atomic<uint64_t>& slot = slots[id % kSlots];
    const uint64_t made = slot_of(id, start) | kExecuting;
    uint64_t old = slot.load(std::memory_order_relaxed);
    while (!is_of(old, id, start)) {
      if (slot.compare_exchange_weak(old, made, std::memory_order_relaxed)) {
        executing.fetch_add(1, std::memory_order_relaxed);
        name_program(id, made, path, now_ns);
        return;
      }
    }
  }

  // For readers.  Who executed a program that memprof did not begin in; `id` 0: of this slot nobody.
  Process executing_in(size_t slot) const {
    return executing_of(slots[slot].load(std::memory_order_relaxed));
  }
  // The same of a program, as it was when it was noted.
  static Process process_of(const Program& program) {
    return executing_of(program.process.load(std::memory_order_relaxed));
  }
  // Did memprof begin in it, or was it not executed?
  bool is_over(const Process& of) const {
    const uint64_t slot = slots[of.id % kSlots].load(std::memory_order_relaxed);
    return (slot & kExecuting) == 0 && is_same({id_of(slot), slot & kStarts}, of);
  }
  // `noted`: as it was noted, maybe with a later start.
  static bool is_same(const Process& process, const Process& noted) {
    return process.id == noted.id && is_start_of(process.start, noted.start);
  }

 private:
  // A slot: id + 1, two flags, start.  Units of process_start, on Linux a hundredth of a second: a process that has
  // only come to be takes the time for its start, which is later by as much as it waited for a processor.
  static constexpr uint64_t kSlack = 100;
  static constexpr uint64_t kMaxLate = 1000;
  static constexpr uint64_t kStartBits = 38;
  static constexpr uint64_t kStarts = (uint64_t{1} << kStartBits) - 1;
  static constexpr uint64_t kCounted = uint64_t{1} << kStartBits;  // among the processes
  static constexpr uint64_t kExecuting = kCounted << 1;            // among the programs
  static constexpr uint64_t kIdShift = kStartBits + 2;

  static uint64_t slot_of(uint64_t id, uint64_t start) { return (id + 1) << kIdShift | (start & kStarts); }
  static uint64_t id_of(uint64_t slot) { return (slot >> kIdShift) - 1; }
  static bool is_start_of(uint64_t start, uint64_t noted) {
    return ((noted - start + kSlack) & kStarts) <= kSlack + kMaxLate;
  }
  static bool is_of(uint64_t slot, uint64_t id, uint64_t start) {
    return id_of(slot) == id && is_start_of(start, slot & kStarts);
  }
  static Process executing_of(uint64_t slot) {
    return (slot & kExecuting) != 0 ? Process{id_of(slot), slot & kStarts} : Process{0, 0};
  }

  // Threads of processes that share a place may write at once: then it has the path of one, and the id of one.
  void name_program(uint64_t id, uint64_t slot, const char* path, uint64_t now_ns) {
    Program& program = programs[id % kPrograms];
    program.when_ns.store(0, std::memory_order_relaxed);
    program.process.store(slot, std::memory_order_release);
    for (std::atomic<char>& to : program.path) {
      to.store(*path, std::memory_order_relaxed);
      if (*path++ == '\0') {
        break;
      }
    }
    program.when_ns.store(now_ns, std::memory_order_release);
  }
};
static_assert(sizeof(RunTally) == 98304 && std::is_standard_layout_v<RunTally>);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<char>::is_always_lock_free);

}  // namespace memprof
