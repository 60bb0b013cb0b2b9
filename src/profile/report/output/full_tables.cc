// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/full_tables.h"

#include <fmt/format.h>

#include "profile/report/report_cells.h"

namespace memprof::profile {
namespace {

// Of stacks that were shortened: " (12.3 % of the bytes)"; "": not known.
std::string of_bytes(const Report& report) {
  if (!report.health || !(report.health->shortened_bytes > 0)) return "";
  const double share = report.health->shortened_bytes / report.health->total_allocated_bytes;
  return fmt::format(" ({:.1f} % of the bytes)", 100 * share);
}

}  // namespace

std::vector<std::string> full_tables(const Report& report) {
  std::vector<std::string> lines;
  if (report.folded_stacks != 0) {
    lines.push_back(fmt::format(
        "The table of stacks was full: {} older stacks were shortened, to [older stacks]{}. No bytes are "
        "missing.",
        number(report.folded_stacks), of_bytes(report)));
  }
  if (const uint64_t names = report.folded_modules + report.folded_functions + report.folded_heaps;
      names != 0) {
    lines.push_back(fmt::format(
        "The tables of names were full: {} modules, functions and heaps share one, like [older modules], "
        "[older functions], [other heaps]. No bytes are missing.",
        number(names)));
  }
  if (report.thinned_samples != 0) {
    lines.push_back(fmt::format(
        "The table of live blocks was full: the rate rose, and {} of the live samples left it to others to "
        "stand for them. No bytes are missing; intervals are wider.",
        number(report.thinned_samples)));
  }
  return lines;
}

}  // namespace memprof::profile
