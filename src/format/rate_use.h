// SPDX-License-Identifier: Apache-2.0
// A rate that was in force for a part of a profile: as a snapshot, the public C interface and profiles have it.
//
// Allocates: never.
#pragma once

#include <cstdint>

namespace memprof {

struct RateUse {
  uint64_t rate_bytes = 0;
  uint64_t weight_bytes = 0;  // what the samples of this rate stand for
  uint64_t time_ns = 0;       // how long it was in force
};

}  // namespace memprof
