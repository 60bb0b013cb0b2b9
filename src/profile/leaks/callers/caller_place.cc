// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/callers/caller_place.h"

#include <algorithm>
#include <string_view>

#include "format/affixes.h"

namespace memprof::profile {
namespace {

bool is_module_loader(std::string_view file) {
  constexpr std::string_view kFiles[] = {"<frozen importlib", "<frozen zipimport>", "node:internal/modules/"};
  return std::any_of(std::begin(kFiles), std::end(kFiles),
                     [&](std::string_view begin) { return begins_with(file, begin); });
}

}  // namespace

std::optional<FrameGroup> executed_caller(const Profile& profile, const FrameGrouping& grouping,
                                          const std::vector<GroupedFrame>& frames) {
  for (const GroupedFrame& frame : frames) {
    if (frame.location == kNowhere) continue;
    const Function* const function = executed_function(profile, profile.locations[frame.location]);
    if (function == nullptr) continue;
    if (&frame == &frames.front()) return std::nullopt;
    if (function->filename.empty() && frame.line == 0) continue;  // the runtime's own
    FrameGroup caller = grouping.groups()[frame.group];
    caller.line = frame.line;
    return caller;
  }
  return std::nullopt;
}

std::vector<bool> module_loaders(const Profile& profile) {
  std::vector<bool> are_loaders;
  are_loaders.reserve(profile.locations.size());
  for (const Location& location : profile.locations) {
    are_loaders.push_back(std::any_of(location.lines.begin(), location.lines.end(), [&](const Line& line) {
      return is_module_loader(profile.functions[line.function].filename);
    }));
  }
  return are_loaders;
}

}  // namespace memprof::profile
