// SPDX-License-Identifier: Apache-2.0
// Address -> rule, for all threads.
//
// Model: 2^14 words, each a whole entry, so nothing can be torn:
//     63 ......... 30 29 ........ 0
//     `---- tag ----' `-- rule --'        0: empty
// The address after the one asked for (a return address, mostly: the walk need not subtract first) gives the
// index with its low 14 bits and the tag with the 34 above them, so a hit is never false.  No hash: which
// addresses share a slot would depend on the same bits, and the walk waits for the index at each frame.
// A collision replaces; "in no module" is never entered, because something may be loaded there.
//
// Unloading: while somebody unloads (begin_unload .. end_unload), lookups miss and nothing is entered;
// end_unload forgets everything, because another library can come to the same addresses; or the rules of the
// code that went, where its addresses are known.
//
// Threads: any number, relaxed words.  The count of unloads is written with sequential consistency around
// dlclose.
// Signals: safe.  fork: a child has only the unloads of the thread that forked.
// Allocates: never (128 KiB of zero pages).
#pragma once

#include <atomic>
#include <cstdint>

#include "unwind/tables/rule.h"

namespace memprof::unwind {

class RuleCache {
 public:
  static constexpr uint32_t kIndexBits = 14;
  static constexpr uint32_t kSlots = 1 << kIndexBits;

  // false: not there.
  bool find(uint64_t address, Rule* rule) const {
    const uint32_t bits = find_bits(address);
    *rule = unpack(bits);
    return bits != 0;
  }

  // The packed rule, with more bits above it; 0: not there.
  uint32_t find_bits(uint64_t address) const {
    const uint64_t key = address + 1;
    const uint64_t word = words_[key % kSlots].load(std::memory_order_relaxed);
    return (word ^ tag(key)) >> kRuleBits != 0 ? 0 : static_cast<uint32_t>(word);
  }

  // `ticket` was taken before the rule was derived.
  void enter(uint64_t address, const Rule& rule, uint32_t ticket) {
    if (is_unloading(ticket)) {
      return;
    }
    const uint64_t key = address + 1;
    std::atomic<uint64_t>& word = words_[key % kSlots];
    // Sequentially consistent, as the count of unloads: either we see that an unload began since, or its
    // sweep comes after this.
    word.store(tag(key) | pack(rule), std::memory_order_seq_cst);
    if (this->ticket() != ticket) {
      word.store(0, std::memory_order_relaxed);
    }
  }

  // Changes with every unload that begins or ends.  Taken once at the begin of a walk: code that is loaded
  // where a library was can only be on a stack after that library's unload began.
  uint32_t ticket() const { return unloads_.load(std::memory_order_seq_cst); }
  // Lookups are worth nothing then.
  static bool is_unloading(uint32_t ticket) { return (ticket & kActive) != 0; }
  void begin_unload();
  void end_unload();
  // Of code at [low, high) only.
  void end_unload(uint64_t low, uint64_t high);

  // In a fork child: ends the unloads of other threads.
  void reset_in_child();

 private:
  void forget();
  void forget(uint64_t low, uint64_t high);
  void end();

  // Bits 14 to 47 in their place in a word.
  static uint64_t tag(uint64_t key) { return key << 16 >> kRuleBits << kRuleBits; }

  static constexpr uint32_t kActive = 0xfff;  // threads that are unloading
  static constexpr uint32_t kBegun = 0x1000;  // one unload that began, ever

  std::atomic<uint64_t> words_[kSlots];
  std::atomic<uint32_t> unloads_;
};

// The process's cache: zero-initialised, so valid before any code of ours ran.
extern RuleCache g_rule_cache __attribute__((visibility("hidden")));

}  // namespace memprof::unwind
