// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/rule_cache.h"

#include "platform/object_format.h"

namespace memprof::unwind {

RuleCache g_rule_cache;

namespace {

// How many unloads the calling thread is in.
__thread uint32_t t_unloads MEMPROF_TLS_MODEL;

}  // namespace

void RuleCache::begin_unload() {
  ++t_unloads;
  unloads_.fetch_add(kBegun + 1, std::memory_order_seq_cst);
}

void RuleCache::forget() {
  for (std::atomic<uint64_t>& word : words_) {
    word.store(0, std::memory_order_relaxed);
  }
}

// Another address that comes to a slot meanwhile may be forgotten with it.
void RuleCache::forget(uint64_t low, uint64_t high) {
  const auto forget_in = [&](uint64_t slot) {
    const uint64_t word = words_[slot].load(std::memory_order_relaxed);
    const uint64_t key = word >> kRuleBits << kIndexBits | slot;
    if (word != 0 && key - 1 - low < high - low) {
      words_[slot].store(0, std::memory_order_relaxed);
    }
  };
  const uint64_t count = high - low < kSlots ? high - low : kSlots;
  for (uint64_t i = 0; i < count; ++i) {
    forget_in((low + 1 + i) % kSlots);
  }
}

void RuleCache::end() {
  --t_unloads;
  unloads_.fetch_sub(1, std::memory_order_seq_cst);
}

void RuleCache::end_unload() {
  forget();
  end();
}

void RuleCache::end_unload(uint64_t low, uint64_t high) {
  forget(low, high);
  end();
}

void RuleCache::reset_in_child() {
  const uint32_t before = ticket();
  if ((before & kActive) != t_unloads) {
    forget();
    unloads_.store((before & ~kActive) + kBegun + t_unloads, std::memory_order_seq_cst);
  }
}

}  // namespace memprof::unwind
