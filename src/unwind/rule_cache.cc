// SPDX-License-Identifier: Apache-2.0
#include "unwind/rule_cache.h"

namespace memprof::unwind {

RuleCache g_rule_cache;

void RuleCache::end_unload() {
  for (std::atomic<uint64_t>& word : words_) {
    word.store(0, std::memory_order_relaxed);
  }
  unloads_.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace memprof::unwind
