// SPDX-License-Identifier: Apache-2.0
// Counts what a file makes its reader hold, because a few bytes can ask for much.
//
// Threads: one reader's own.
// Failure: throws Error when the budget is spent.
#pragma once

#include <cstdint>

#include "profile/model/error.h"

namespace memprof::profile {

class ReadBudget {
 public:
  explicit ReadBudget(uint64_t bytes) : left_bytes_(bytes) {}

  void charge(uint64_t bytes) {
    if (bytes > left_bytes_) {
      throw Error(
          "too large: reading it would take more memory than a profile of its size does; if you trust a gzip file, "
          "unpack it first: gzip -dc FILE > FILE.pb");
    }
    left_bytes_ -= bytes;
  }

  // An entry of a hash table with its share of the buckets, roughly.
  static constexpr uint64_t kHashEntryBytes = 64;

 private:
  uint64_t left_bytes_;
};

}  // namespace memprof::profile
