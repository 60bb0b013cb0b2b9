// SPDX-License-Identifier: Apache-2.0
// Random numbers (platform/clock.h).
#include "platform/clock.h"

#include <sys/random.h>

#include <atomic>

#include "format/hash.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

std::atomic<uint64_t> g_seeds{0};  // relaxed: each call needs another number, in any order

}  // namespace

uint64_t random_seed() {
  uint64_t seed = 0;
  if (getentropy(&seed, sizeof(seed)) == 0) {
    return seed;
  }
  const uint64_t number = g_seeds.fetch_add(kGolden, std::memory_order_relaxed);
  return mix_hash(number) ^ mix_hash(monotonic_ns()) ^ mix_hash(unix_ns() + process_id() * kGolden);
}

}  // namespace memprof::platform
