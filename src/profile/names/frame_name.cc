// SPDX-License-Identifier: Apache-2.0
#include "profile/names/frame_name.h"

#include <fmt/format.h>

#include "profile/names/interpreter_frames.h"
#include "profile/names/runtime_name.h"
#include "profile/names/short_name.h"

namespace memprof::profile {

std::string location_module(const Profile& profile, const Location& location) {
  if (location.mapping >= profile.mappings.size()) {
    return profile.from_memprof && executed_function(profile, location) != nullptr
               ? runtime_module(profile.runtimes)
               : "";
  }
  const std::string& path = profile.mappings[location.mapping].path;
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string location_place(const Profile& profile, const Location& location) {
  const std::string module = location_module(profile, location);
  if (module.empty() || location.mapping >= profile.mappings.size()) {
    return fmt::format("{:#x}", location.address);
  }
  const Mapping& mapping = profile.mappings[location.mapping];
  return fmt::format("{}+{:#x}", module, location.address - mapping.start + mapping.file_offset);
}

std::vector<Frame> location_frames(const Profile& profile, const Location& location) {
  std::vector<Frame> frames;
  for (const Line& line : location.lines) {
    if (line.function >= profile.functions.size()) {
      continue;
    }
    const Function& function = profile.functions[line.function];
    Frame& frame = frames.emplace_back();
    frame.name = function.name.empty() ? function.system_name : function.name;
    frame.symbol = function.system_name;
    frame.is_named = !frame.name.empty();
    frame.file = function.filename;
    frame.line = line.line;
  }
  if (frames.empty()) {
    frames.emplace_back();
  }
  const bool is_executed = executed_function(profile, location) != nullptr;
  const bool is_listed = !is_executed && runtime_function(profile, location) != nullptr;  // by a JIT
  // Other tools may leave mappings out; and frames that were left out have no address.
  const bool is_made = profile.from_memprof && !is_executed && (location.address != 0 || is_listed) &&
                       location.mapping >= profile.mappings.size();
  for (Frame& frame : frames) {
    frame.is_executed = is_executed;
    frame.is_made = is_made;
    frame.module = is_made ? kMadeCode : location_module(profile, location);
    if (is_listed) frame.file.clear();
    if (!frame.is_named) {
      frame.name = location_place(profile, location);
      if (location.mapping < profile.mappings.size()) {
        frame.build_id = profile.mappings[location.mapping].build_id;
      }
    }
  }
  return frames;
}

std::string shown_frame_name(const Frame& frame) {
  if (!frame.is_named) return frame.is_made ? kMadeCode : shown_module(frame.name);
  return frame.is_executed ? frame.name : shown_name(frame.name, frame.symbol, frame.file);
}

}  // namespace memprof::profile
