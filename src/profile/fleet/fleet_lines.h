// SPDX-License-Identifier: Apache-2.0
// What lines about services have in common.
//
// Threads: no state.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "profile/text/text_writer.h"
#include "profile/text/units.h"

namespace memprof::profile {

// Of a service, a host, a function, a version.
inline std::string fleet_name(const std::string& name) {
  return name.empty() ? "?" : printable(name);
}

// "1 host", "1,000 hosts"
inline std::string fleet_count(size_t count, const char* what) {
  return fmt::format("{} {}{}", format_count(static_cast<double>(count)), what, count == 1 ? "" : "s");
}

// "+9.5 %"; "new" where nothing was before.
inline std::string fleet_share(double before, double after) {
  return before > 0 ? fmt::format("{:+.1f} %", 100 * (after - before) / before) : "new";
}

// The first `count` of them, and how many more there are.
template <typename Row, typename Line>
std::string fleet_list(const std::vector<Row>& rows, size_t count, const Line& line) {
  std::string text;
  for (size_t i = 0; i < std::min(rows.size(), count); ++i) text += line(rows[i]);
  if (rows.size() > count) text += fmt::format("  and {} more (-n)\n", rows.size() - count);
  return text;
}

}  // namespace memprof::profile
