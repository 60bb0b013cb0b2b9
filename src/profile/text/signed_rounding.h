// SPDX-License-Identifier: Apache-2.0
// Rounds estimates one after the other so that their sum is right, what is below zero (a difference of
// profiles has that) apart from what is above.
//
// Threads: one sum's own.
#pragma once

#include <cstdint>

#include "format/sample_writer.h"

namespace memprof::profile {

class SignedRounding {
 public:
  int64_t round(double value) { return value < 0 ? -less_.round(-value) : more_.round(value); }

 private:
  CarriedRounding more_;
  CarriedRounding less_;
};

}  // namespace memprof::profile
