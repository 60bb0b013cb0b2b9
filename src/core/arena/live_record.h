// SPDX-License-Identifier: Apache-2.0
// A live sample, and its record in the arena.  A field is declared here alone: in SampleFields, in LiveRecord, and in
// three lines of LiveRecord's functions; core/engine/recorder.cc knows its value.  What readers have (core/reader) has all
// of SampleFields, in the order of memprof_record of memprof.h (asserted in capi/snapshot.cc).
//
// Threads: a record is read while others write it (core/tables/heap_map.h has the protocol).
// Signals: safe.  Allocates: never.
#pragma once

#include <atomic>
#include <cstdint>

namespace memprof {

struct SampleFields {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t rate_bytes;
  uint64_t time_ns;    // monotonic
  uint32_t stack_id;   // StackTable::ref(); in a snapshot an index of its stacks
  uint32_t thread_id;  // the system's
};

struct LiveSample : SampleFields {
  uint32_t resident = 0;   // ResidentShare::code()
  bool is_moving = false;  // its block was given to a realloc that has not returned yet; erase() says it
};

// A stack (StackTable::ref()), and below it the generation, which an insertion raises.
struct StackWord {
  static uint64_t word(uint32_t generation, uint32_t stack_id) {
    return generation | uint64_t{stack_id} << 32;
  }
  static uint32_t generation_of(uint64_t word) { return static_cast<uint32_t>(word); }
  static uint32_t stack_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
};

// A rate in bytes, and above it what the generation ends with: who changes the rate of another generation would
// have to come 8,192 of them late.  Before version 10: the rate alone.
struct RateWord {
  static constexpr uint32_t kBits = 51;  // thinning.cc has less than twice kMaxRateBytes
  static constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  static uint64_t word(uint32_t generation, uint64_t rate_bytes) {
    return (rate_bytes & kMask) | uint64_t{generation} << kBits;
  }
  static uint64_t rate_of(uint64_t word) { return word & kMask; }
};

// By what rate a sample was counted when it came, in the 32 bits that a record has for it: 25 digits, and how far
// they are shifted.
struct FirstRate {
  static constexpr uint32_t kNone = 0;
  // kNone: it has more digits, which only one of more than 2^25 can.
  static uint32_t code(uint64_t rate_bytes);
  static uint64_t rate_bytes(uint32_t code);
};

// How much of a block is in memory, as a record has it beside the id of its thread, which takes no more than 22 bits.
struct ResidentShare {
  static constexpr uint32_t kUnknown = 0;
  static constexpr uint32_t kMax = 1023;
  static constexpr uint32_t kThreadBits = 22;

  // Right to a thousandth; 0 is none of it, and never for what has a part in memory.
  static uint32_t code(float share);
  static float share(uint32_t code);  // negative: not known

  static uint32_t code_of(uint32_t word) { return word >> kThreadBits; }
  static uint32_t thread_of(uint32_t word) { return word & ((uint32_t{1} << kThreadBits) - 1); }
  static uint32_t word(uint32_t thread_id, uint32_t code) {
    return thread_of(thread_id) | code << kThreadBits;
  }
};

// A monotonic time in nanoseconds, and in its highest bit, which no time needs: is its block at a realloc?
struct TimeWord {
  static constexpr uint64_t kMovingBit = uint64_t{1} << 63;
  static uint64_t time_of(uint64_t word) { return word & ~kMovingBit; }
  static bool is_moving(uint64_t word) { return (word & kMovingBit) != 0; }
};

// Fields are stored with release and loaded with acquire, in the order of the protocol, so that a reader which sees a
// field of a later insertion also sees its generation.
struct LiveRecord {
  std::atomic<uint64_t> stack;       // StackWord
  std::atomic<uint32_t> thread_id;   // ResidentShare::word()
  std::atomic<uint32_t> first_rate;  // FirstRate::code(); 0: its rate never changed
  std::atomic<uint64_t> size_bytes;
  std::atomic<uint64_t> rate;     // RateWord
  std::atomic<uint64_t> time_ns;  // TimeWord

  // acquire pairs with the release in store().
  uint32_t generation() const { return StackWord::generation_of(stack.load(std::memory_order_acquire)); }

  // By who has its key: another generation.
  void store(const LiveSample& sample) {
    const uint32_t next = StackWord::generation_of(stack.load(std::memory_order_relaxed)) + 1;
    stack.store(StackWord::word(next, sample.stack_id), std::memory_order_release);
    thread_id.store(ResidentShare::word(sample.thread_id, sample.resident), std::memory_order_release);
    first_rate.store(FirstRate::kNone, std::memory_order_release);
    size_bytes.store(sample.size_bytes, std::memory_order_release);
    rate.store(RateWord::word(next, sample.rate_bytes), std::memory_order_release);
    time_ns.store(sample.time_ns, std::memory_order_release);
  }

  // What it holds under a key, a stack and a rate that the caller has taken out of it or read.
  LiveSample load(uint64_t address, uint64_t stack_word, uint64_t rate_word) const {
    const uint64_t time_word = time_ns.load(std::memory_order_acquire);
    const uint32_t thread_word = thread_id.load(std::memory_order_acquire);
    LiveSample sample{};
    sample.address = address;
    sample.size_bytes = size_bytes.load(std::memory_order_acquire);
    sample.rate_bytes = RateWord::rate_of(rate_word);
    sample.time_ns = TimeWord::time_of(time_word);
    sample.stack_id = StackWord::stack_of(stack_word);
    sample.thread_id = ResidentShare::thread_of(thread_word);
    sample.resident = ResidentShare::code_of(thread_word);
    sample.is_moving = TimeWord::is_moving(time_word);
    return sample;
  }

  // Of two copies: are they of one insertion?  What can change while a record lives is not asked: its rate, its stack,
  // what of it is resident.
  static bool are_of_one(const LiveRecord& a, const LiveRecord& b) {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    return StackWord::generation_of(a.stack.load(kRelaxed)) ==
               StackWord::generation_of(b.stack.load(kRelaxed)) &&
           ResidentShare::thread_of(a.thread_id.load(kRelaxed)) ==
               ResidentShare::thread_of(b.thread_id.load(kRelaxed)) &&
           a.size_bytes.load(kRelaxed) == b.size_bytes.load(kRelaxed) &&
           a.time_ns.load(kRelaxed) == b.time_ns.load(kRelaxed);
  }
};

}  // namespace memprof
