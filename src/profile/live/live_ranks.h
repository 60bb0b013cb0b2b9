// SPDX-License-Identifier: Apache-2.0
// The order of rows that a person watches: by value, but no row jumps up and down with every small change.
//
// Model: rows keep their places from look to look.  A row passes the one above it at once where its value is
// larger by a tenth, and else after it was larger at three looks in a row.  So values that come and go leave
// the order alone, and what stays is in its place after some looks.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace memprof::profile {

struct RankedValue {
  std::string key;  // of the row, each once
  double value = 0;
};

class LiveRanks {
 public:
  static constexpr double kAtOnce = 0.1;  // of the larger of two values
  static constexpr unsigned kLooks = 3;

  // The order after one more look, as indexes of `rows`; where values are equal, as they come.  A row that was
  // not there before takes the place of its value.
  std::vector<size_t> look(const std::vector<RankedValue>& rows);

  // The next look orders by value alone: another value is asked for.
  void forget() { order_.clear(); }

 private:
  struct Place {
    std::string key;
    unsigned waits = 0;  // looks at which it was larger than the one above it
  };
  std::vector<Place> order_;
};

}  // namespace memprof::profile
