// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/rule_cache.h"

namespace memprof::unwind {

RuleCache g_rule_cache;

namespace {

// How many unloads the calling thread is in.
__thread uint32_t t_unloads __attribute__((tls_model("initial-exec")));

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

void RuleCache::end_unload() {
  forget();
  --t_unloads;
  unloads_.fetch_sub(1, std::memory_order_seq_cst);
}

void RuleCache::reset_in_child() {
  const uint32_t before = ticket();
  if ((before & kActive) != t_unloads) {
    forget();
    unloads_.store((before & ~kActive) + kBegun + t_unloads, std::memory_order_seq_cst);
  }
}

}  // namespace memprof::unwind
