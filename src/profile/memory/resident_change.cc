// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/resident_change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "profile/text/units.h"

namespace memprof::profile {
namespace {

double change_of(uint64_t before, uint64_t after) {
  return static_cast<double>(after) - static_cast<double>(before);
}

std::string sizes(uint64_t before, uint64_t after) {
  return fmt::format("{} to {}: {}", format_bytes(static_cast<double>(before)),
                     format_bytes(static_cast<double>(after)), format_signed_bytes(change_of(before, after)));
}

}  // namespace

std::string resident_change_text(const ResidentMemory& before, uint64_t before_most_bytes,
                                 const ResidentMemory& after, uint64_t after_most_bytes) {
  if (!before.is_known() || !after.is_known()) {
    return before_most_bytes == 0 || after_most_bytes == 0
               ? ""
               : "at most " + sizes(before_most_bytes, after_most_bytes);
  }
  if (!before.is_heap_known() || !after.is_heap_known())
    return sizes(before.total_bytes, after.total_bytes) +
           "; its parts are not known: the time for them ran out";
  const auto part = [&](uint64_t ResidentMemory::* member) {
    return change_of(before.*member, after.*member);
  };
  const struct {
    const char* name;
    double change;
  } parts[] = {{"heap", after.blocks_bytes() - before.blocks_bytes()},
               {"slack", part(&ResidentMemory::slack_bytes)},
               {"kept free", part(&ResidentMemory::free_bytes)},
               {"files and static data", part(&ResidentMemory::files_bytes)},
               {"shared memory", part(&ResidentMemory::shared_bytes)},
               {"thread stacks", part(&ResidentMemory::stacks_bytes)},
               {"code made at run time", part(&ResidentMemory::code_bytes)},
               {"a runtime's heap", part(&ResidentMemory::runtime_bytes)},
               {"memprof", part(&ResidentMemory::memprof_bytes)},
               {"not explained", after.unexplained_bytes() - before.unexplained_bytes()}};
  // What is less than this part of the larger one is not worth a place in one line.
  constexpr double kFew = 0.001;
  const double min = kFew * static_cast<double>(std::max(before.total_bytes, after.total_bytes));
  std::vector<std::string> changed;
  for (const auto& one : parts) {
    if (std::abs(one.change) >= min)
      changed.push_back(fmt::format("{} {}", one.name, format_signed_bytes(one.change)));
  }
  const auto percent = [](const ResidentMemory& m) {
    return fmt::format("{:.0f} %", 100 * m.fragmentation());
  };
  return fmt::format("{}{}; fragmentation {} to {}", sizes(before.total_bytes, after.total_bytes),
                     changed.empty() ? "" : fmt::format(" ({})", fmt::join(changed, ", ")), percent(before),
                     percent(after));
}

}  // namespace memprof::profile
