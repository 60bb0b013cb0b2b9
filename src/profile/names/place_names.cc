// SPDX-License-Identifier: Apache-2.0
#include "profile/names/place_names.h"

#include "profile/names/frame_name.h"

namespace memprof::profile {

std::vector<Function> place_functions(const Profile& profile) {
  std::vector<Function> functions(profile.locations.size());
  for (size_t i = 0; i < functions.size(); ++i) {
    const Location& location = profile.locations[i];
    if (!location.lines.empty()) continue;
    functions[i].name = functions[i].system_name = location_frames(profile, location).front().name;
  }
  return functions;
}

void drop_place_names(Profile* profile) {
  std::vector<bool> is_dropped(profile->functions.size());
  for (Location& location : profile->locations) {
    if (location.lines.size() != 1 || location.lines[0].line != 0) continue;
    const uint32_t index = location.lines[0].function;
    if (index >= profile->functions.size() || !profile->functions[index].filename.empty()) continue;
    Location nameless = location;
    nameless.lines.clear();
    if (location_frames(*profile, nameless).front().name != profile->functions[index].name) continue;
    is_dropped[index] = true;
    location.lines.clear();
  }
  while (!profile->functions.empty() && is_dropped[profile->functions.size() - 1])
    profile->functions.pop_back();
}

}  // namespace memprof::profile
