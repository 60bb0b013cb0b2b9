// SPDX-License-Identifier: Apache-2.0
// What reading a profile may cost, and what of it is read.  The bytes are not trusted.
//
// Threads: no state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace memprof::profile {

struct ReadOptions {
  uint64_t max_decompressed_bytes = uint64_t{2} << 30;
  // A gzip file may grow to this many times its size, or to 64 MiB where that is more.  Profiles have 2 to 10.
  uint64_t max_ratio = 50;
  // What the Profile may take, roughly: so many times the size of the file as it lies on the disk, or 512 MiB where that
  // is more, and never more than max_model_bytes.
  uint64_t max_model_ratio = 256;
  uint64_t max_model_bytes = uint64_t{8} << 30;
  std::string sample_type = {};  // this one alone is read, by its unit; empty: those that are of memory
};

inline uint64_t unpacked_limit(const ReadOptions& options, uint64_t stored_bytes) {
  constexpr uint64_t kAlwaysAllowed = uint64_t{64} << 20;
  return std::min(options.max_decompressed_bytes, std::max(kAlwaysAllowed, stored_bytes * options.max_ratio));
}

inline uint64_t model_limit(const ReadOptions& options, uint64_t stored_bytes) {
  constexpr uint64_t kAlwaysAllowed = uint64_t{512} << 20;
  return std::min(options.max_model_bytes, std::max(kAlwaysAllowed, stored_bytes * options.max_model_ratio));
}

}  // namespace memprof::profile
