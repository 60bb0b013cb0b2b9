// SPDX-License-Identifier: Apache-2.0
// Whether the shipper goes on: what /healthz and /readyz say.
//
// Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace memprof::cli {

class ShipHealth {
 public:
  using Clock = std::chrono::steady_clock;
  // Who looks for new processes each second, and takes a look at 1,000 within some seconds, is stuck then.
  static constexpr std::chrono::seconds kMaxSilence{120};

  // The shipper's loop came round.
  void beat() { last_ = Clock::now(); }
  // It has taken a first look, or, where it only serves, has found the processes.
  void begun() { has_begun_ = true; }

  // "": well.
  std::string not_well(Clock::time_point now = Clock::now()) const {
    const auto silence = now - last_.load();
    if (silence <= kMaxSilence) return {};
    return "no look for processes since " +
           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(silence).count()) + " s";
  }
  // "": ready.
  std::string not_ready() const { return has_begun_ ? "" : "the first look is not done yet"; }

 private:
  std::atomic<Clock::time_point> last_{Clock::now()};
  std::atomic<bool> has_begun_{false};
};

}  // namespace memprof::cli
