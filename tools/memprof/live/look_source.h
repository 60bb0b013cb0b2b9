// SPDX-License-Identifier: Apache-2.0
// Where looks at running processes come from.
//
// Threads: one command's own.
// Failure: look() throws profile::Error, and Failure where there is nothing to look at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/live/live_model.h"

namespace memprof::cli {

// What there was at a moment; 0: not known.
struct TimelinePoint {
  double seconds = 0;  // from the first look on
  double live_bytes = 0;
  double resident_bytes = 0;
  double allocated_bytes = 0;  // until then
};

class LookSource {
 public:
  LookSource() = default;
  virtual ~LookSource() = default;
  LookSource(const LookSource&) = delete;
  LookSource& operator=(const LookSource&) = delete;

  virtual profile::LiveLook look() = 0;
  // When there is none of them any more, and there was only one: what it held at its end, where that can be
  // read.
  virtual std::optional<profile::LiveLook> look_at_end() = 0;
  // Those that the last look is of.
  virtual const std::vector<uint64_t>& pids() const = 0;
  // Whether there is one of them still.
  virtual bool is_there() const = 0;
  // What is to be said when there is none.
  virtual std::string ending() const = 0;

  // Of looks that were recorded.  Whether look() shows another one than the last time.
  virtual bool has_news() { return true; }
  // All of them, by time, or an even part.  Nothing: there are none but what look() shows.
  virtual std::vector<TimelinePoint> timeline() const { return {}; }
  // The data block of a page of what changed between the looks next to two moments, or of the one look that is next
  // to both.  Nothing: there are no earlier ones.  Throws profile::Error.
  virtual std::optional<std::string> between(double /*first_s*/, double /*last_s*/) { return std::nullopt; }
};

}  // namespace memprof::cli
