// SPDX-License-Identifier: Apache-2.0
#include "core/arena/memory_limit.h"

namespace memprof {
namespace {

constexpr uint64_t kShareOfGroup = 64;
// As many live samples for each stack as the defaults have.
constexpr uint64_t kLiveSamplesPerStack = kDefaultLimits.max_live_samples / kDefaultLimits.max_stacks;

uint64_t min_of(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

// Raises one of the limits as far as it fits, by halves of what is left.
void raise_within(uint64_t Limits::* member, uint64_t max, uint64_t limit_bytes, Limits* limits) {
  uint64_t step = 1;
  while (step < max) {
    step *= 2;
  }
  for (; step != 0; step /= 2) {
    Limits more = *limits;
    more.*member = min_of(limits->*member + step, max);
    if (max_bytes(more) <= limit_bytes) {
      *limits = more;
    }
  }
}

}  // namespace

uint64_t default_memory_limit(uint64_t group_limit_bytes) {
  if (group_limit_bytes == UINT64_MAX) {
    return kNoMemoryLimit;
  }
  const uint64_t share = group_limit_bytes / kShareOfGroup;
  return share < kMinMemoryLimit ? kMinMemoryLimit : share;
}

Limits limits_within(const Limits& wanted, uint64_t limit_bytes) {
  if (max_bytes(wanted) <= limit_bytes) {
    return wanted;
  }
  // Both in their usual proportion, then stacks with what is left: the table of live samples grows in steps of two,
  // of which the next one did not fit.
  Limits limits{1, 1, wanted.max_depth};
  for (uint64_t stacks = 1; stacks <= wanted.max_stacks; stacks *= 2) {
    const Limits more{min_of(wanted.max_live_samples, stacks * kLiveSamplesPerStack), stacks,
                      wanted.max_depth};
    if (max_bytes(more) > limit_bytes) {
      break;
    }
    limits = more;
  }
  raise_within(&Limits::max_stacks, wanted.max_stacks, limit_bytes, &limits);
  raise_within(&Limits::max_live_samples, wanted.max_live_samples, limit_bytes, &limits);
  return limits;
}

}  // namespace memprof
