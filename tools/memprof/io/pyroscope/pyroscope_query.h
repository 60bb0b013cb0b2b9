// SPDX-License-Identifier: Apache-2.0
// What is asked of a Pyroscope, by an address in the place of a file:
//
//   pyroscope+http://HOST:4040/SERVICE?from=now-1h&until=now&LABEL=VALUE
//   http://HOST:4040/?query=memory:inuse_space:bytes:space:bytes{service_name="SERVICE"}&from=now-1h&until=now
//
// The second one is how links of Pyroscope's page, and its /pyroscope/render, are written.
//
// Threads: no state.
// Failure: throws Failure "ADDRESS: why".
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

struct PyroscopeQuery {
  std::string server;    // http://HOST:4040, with a path where it has one in front
  std::string name;      // that its profile types begin with, "memory"; empty: whichever there is
  std::string selector;  // {service_name="SERVICE"}
  int64_t start_ms = 0;  // since 1970; both ends belong to it
  int64_t end_ms = 0;
};

// A range is a whole number of these: looks are counted in two or more steps of whole seconds.
inline constexpr int64_t kRangeUnitMs = 2000;

bool is_pyroscope_query(const std::string& text);

// Without from=: the hour before the end.  The start is set back to a whole number of kRangeUnitMs.
PyroscopeQuery parse_pyroscope_query(const std::string& text, int64_t now_ms);

}  // namespace memprof::cli
