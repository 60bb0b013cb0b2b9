// SPDX-License-Identifier: Apache-2.0
// Rounds estimates one after the other so that their sum is right; negative values (of a difference of
// profiles) are summed apart from positive ones.
//
// Threads: one sum's own.
#pragma once

#include <cstdint>

#include "format/pprof/sample_writer.h"

namespace memprof::profile {

class SignedRounding {
 public:
  int64_t round(double value) { return value < 0 ? -less_.round(-value) : more_.round(value); }

 private:
  CarriedRounding more_;
  CarriedRounding less_;
};

}  // namespace memprof::profile
