// SPDX-License-Identifier: Apache-2.0
// How long to wait before something is tried again: twice as long each time, from 1 s to 5 min, of which a random half
// or more, so that many hosts do not come back together.
//
// Threads: one object, one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>

namespace memprof::cli {

class Backoff {
 public:
  static constexpr double kFirstSeconds = 1;
  static constexpr double kMaxSeconds = 300;
  static constexpr double kMaxAskedSeconds = 3600;  // what a server may ask for

  explicit Backoff(uint64_t seed) : random_(seed) {}

  // `asked_seconds`: as the server asked for; never less than that.
  double next(std::optional<double> asked_seconds) {
    const double most = std::min(kMaxSeconds, kFirstSeconds * static_cast<double>(uint64_t{1} << failures_));
    failures_ = std::min(failures_ + 1, 20U);
    const double own = most * std::uniform_real_distribution<double>(0.5, 1)(random_);
    return asked_seconds ? std::max(own, std::min(*asked_seconds, kMaxAskedSeconds)) : own;
  }

  void succeeded() { failures_ = 0; }

 private:
  std::mt19937_64 random_;
  unsigned failures_ = 0;
};

}  // namespace memprof::cli
