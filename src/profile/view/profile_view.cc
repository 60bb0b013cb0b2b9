// SPDX-License-Identifier: Apache-2.0
#include "profile/view/profile_view.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/model/stack_sum.h"
#include "profile/names/interpreter_frames.h"
#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

bool is_of_code(GroupBy by) {
  return by == GroupBy::kFunction || by == GroupBy::kLine;
}

// Gives each stack the locations of the frames that are seen.
class Folder {
 public:
  Folder(const Profile& profile, const ViewRequest& request)
      : profile_(profile), by_(request.by), grouping_(profile, request.by, view_for(request)) {}

  std::vector<Stack> stacks() {
    std::vector<Stack> stacks;
    StackSums sums(&stacks);
    std::vector<GroupedFrame> frames;
    for (const Stack& stack : profile_.stacks) {
      grouping_.frames_of(stack, &frames);
      Stack own = stack;
      own.locations = is_of_code(by_) ? code_locations(frames) : group_locations(frames);
      sums.add(std::move(own));
    }
    return stacks;
  }

  // To the profile's own, which come first.
  std::vector<Location> take_locations() { return std::move(locations_); }
  std::vector<Function> take_functions() { return std::move(functions_); }

 private:
  static FrameView view_for(const ViewRequest& request) {
    FrameView view = request.view;
    view.full_names = is_of_code(request.by) || request.names != NameStyle::kShown;
    return view;
  }

  // Of one location those frames that are seen stand behind each other.
  std::vector<uint32_t> code_locations(const std::vector<GroupedFrame>& frames) {
    std::vector<uint32_t> result;
    for (size_t i = 0; i < frames.size();) {
      const uint32_t location = frames[i].location;
      std::vector<uint32_t> seen;
      do {
        seen.push_back(frames[i++].inlined);
      } while (i < frames.size() && frames[i].location == location && frames[i].inlined > seen.back());
      if (location != kNowhere) {
        result.push_back(with_lines(location, std::move(seen)));
      } else if (FrameGrouping::is_import(grouping_.groups()[frames[i - 1].group])) {
        result.push_back(of_import(frames[i - 1].group));
      }
    }
    return result;
  }

  uint32_t with_lines(uint32_t index, std::vector<uint32_t> seen) {
    const Location& location = profile_.locations[index];
    if (seen.size() >= location.lines.size()) return index;
    const auto [known, is_new] = parts_.emplace(std::pair(index, std::move(seen)), next_location());
    if (is_new) {
      Location part = location;
      part.lines.clear();
      for (const uint32_t line : known->first.second) part.lines.push_back(location.lines[line]);
      locations_.push_back(std::move(part));
    }
    return known->second;
  }

  std::vector<uint32_t> group_locations(const std::vector<GroupedFrame>& frames) {
    std::vector<uint32_t> result;
    for (const GroupedFrame& frame : frames) {
      const uint32_t location = of_group(frame.group);
      if (result.empty() || result.back() != location) result.push_back(location);
    }
    return result;
  }

  // Read back it is code of the runtime without a file, as the row of the report is.
  uint32_t of_import(uint32_t group) {
    const uint32_t index = of_group(group);
    locations_[index - profile_.locations.size()].address = 0;
    return index;
  }

  uint32_t of_group(uint32_t group) {
    const auto [known, is_new] = groups_.emplace(group, next_location());
    if (is_new) {
      Location location;
      location.address = uint64_t{group} + 1;  // 0 is code that a runtime executes
      location.lines.push_back({static_cast<uint32_t>(profile_.functions.size() + functions_.size()), 0});
      const FrameGroup& own = grouping_.groups()[group];
      functions_.push_back({own.name, own.name, own.file, 0});
      locations_.push_back(std::move(location));
    }
    return known->second;
  }

  uint32_t next_location() const {
    return static_cast<uint32_t>(profile_.locations.size() + locations_.size());
  }

  const Profile& profile_;
  const GroupBy by_;
  FrameGrouping grouping_;
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, uint32_t> parts_;
  std::map<uint32_t, uint32_t> groups_;
  std::vector<Location> locations_;
  std::vector<Function> functions_;
};

void fold(const ViewRequest& request, Profile* profile) {
  if (request.view.all && is_of_code(request.by)) return;
  Folder folder(*profile, request);
  std::vector<Stack> stacks = folder.stacks();
  std::vector<Location> locations = folder.take_locations();
  std::vector<Function> functions = folder.take_functions();
  profile->stacks = std::move(stacks);
  std::move(locations.begin(), locations.end(), std::back_inserter(profile->locations));
  std::move(functions.begin(), functions.end(), std::back_inserter(profile->functions));
}

void name_functions(NameStyle style, Profile* profile) {
  if (style == NameStyle::kWhole) return;
  std::vector<bool> is_executed(profile->functions.size());  // its name is the runtime's
  for (const Location& location : profile->locations) {
    if (executed_function(*profile, location) != nullptr) is_executed[location.lines[0].function] = true;
  }
  for (size_t i = 0; i < profile->functions.size(); ++i) {
    Function& function = profile->functions[i];
    if (is_executed[i] || function.name.empty()) continue;
    if (style == NameStyle::kShown) {
      function.name = shown_name(function.name, function.system_name, function.filename);
    } else if (function.system_name.compare(0, 2, "_Z") == 0) {
      if (const auto name = without_return_type(function.name)) function.name = std::string(*name);
    }
  }
}

// Whether each is in use, as indices among those that stay; kNowhere: it goes.
std::vector<uint32_t> numbered(const std::vector<bool>& is_used) {
  std::vector<uint32_t> index(is_used.size(), kNowhere);
  uint32_t next = 0;
  for (size_t i = 0; i < is_used.size(); ++i) {
    if (is_used[i]) index[i] = next++;
  }
  return index;
}

template <typename Thing>
void keep(const std::vector<uint32_t>& index, std::vector<Thing>* things) {
  size_t kept = 0;
  for (size_t i = 0; i < things->size(); ++i) {
    if (index[i] == kNowhere) continue;
    if (kept != i) (*things)[kept] = std::move((*things)[i]);
    ++kept;
  }
  things->resize(kept);
}

}  // namespace

void keep_selected(const StackFilter& filter, Profile* profile) {
  if (filter.is_empty()) return;
  const std::vector<bool> is_selected = select_stacks(*profile, filter);
  keep(numbered(is_selected), &profile->stacks);
}

void drop_unused(Profile* profile) {
  std::vector<bool> has_location(profile->locations.size());
  for (const Stack& stack : profile->stacks) {
    for (const uint32_t location : stack.locations) has_location[location] = true;
  }
  const std::vector<uint32_t> locations = numbered(has_location);
  keep(locations, &profile->locations);
  for (Stack& stack : profile->stacks) {
    for (uint32_t& location : stack.locations) location = locations[location];
  }
  std::vector<bool> has_function(profile->functions.size());
  for (const Location& location : profile->locations) {
    for (const Line& line : location.lines) has_function[line.function] = true;
  }
  const std::vector<uint32_t> functions = numbered(has_function);
  keep(functions, &profile->functions);
  for (Location& location : profile->locations) {
    for (Line& line : location.lines) line.function = functions[line.function];
  }
}

void hide_frames(const HiddenFrames& hidden, Profile* profile) {
  const size_t count = profile->locations.size();
  std::vector<uint32_t> without(count, kNowhere);  // the location that stands for it; kNowhere: none
  for (uint32_t i = 0; i < count; ++i) {
    const std::vector<Frame> frames = location_frames(*profile, profile->locations[i]);
    std::vector<Line> lines;
    size_t kept = 0;
    for (size_t frame = 0; frame < frames.size(); ++frame) {
      if (hidden.has(frames[frame])) continue;
      ++kept;
      if (frame < profile->locations[i].lines.size()) lines.push_back(profile->locations[i].lines[frame]);
    }
    if (kept == frames.size()) without[i] = i;
    if (kept == frames.size() || kept == 0) continue;
    without[i] = static_cast<uint32_t>(profile->locations.size());
    Location location = profile->locations[i];
    location.lines = std::move(lines);
    profile->locations.push_back(std::move(location));
  }
  std::vector<Stack> stacks;
  StackSums sums(&stacks);
  for (Stack& stack : profile->stacks) {
    std::vector<uint32_t> seen;
    for (const uint32_t location : stack.locations) {
      if (without[location] != kNowhere) seen.push_back(without[location]);
    }
    if (seen.empty() && !stack.locations.empty()) seen.push_back(stack.locations.back());
    stack.locations = std::move(seen);
    sums.add(std::move(stack));
  }
  profile->stacks = std::move(stacks);
}

Profile view_of(Profile profile, const ViewRequest& request) {
  ViewRequest seen = request;
  // Of the whole profile, so that a filter does not change what is a wrapper.
  if (!seen.view.all && !seen.view.forwarders) seen.view.forwarders = find_forwarders({&profile});
  keep_selected(request.filter, &profile);
  if (request.view.hidden) hide_frames(*request.view.hidden, &profile);
  seen.view.hidden.reset();
  fold(seen, &profile);
  drop_unused(&profile);
  name_functions(request.names, &profile);
  return profile;
}

}  // namespace memprof::profile
