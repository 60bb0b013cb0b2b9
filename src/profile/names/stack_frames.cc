// SPDX-License-Identifier: Apache-2.0
#include "profile/names/stack_frames.h"

#include <map>
#include <utility>

#include "profile/names/frame_grouping.h"

namespace memprof::profile {

StackFrames::StackFrames(const Profile& profile) {
  Frame unknown;
  unknown.name = kUnknownFrame;
  std::map<std::pair<std::string, std::string>, uint32_t> index_of = {{{unknown.name, {}}, 0}};
  frames_.push_back(std::move(unknown));
  of_location_.reserve(profile.locations.size());
  for (const Location& location : profile.locations) {
    std::vector<uint32_t>& indices = of_location_.emplace_back();
    for (Frame& frame : location_frames(profile, location)) {
      const auto next = static_cast<uint32_t>(frames_.size());
      const auto [known, is_new] = index_of.emplace(std::pair(frame.name, frame.file), next);
      if (is_new) {
        frames_.push_back(std::move(frame));
      }
      indices.push_back(known->second);
    }
  }
  for (const Stack& stack : profile.stacks) {
    for (const std::string& label : root_labels(stack)) {
      if (!of_label_.emplace(label, static_cast<uint32_t>(frames_.size())).second) {
        continue;
      }
      Frame frame;
      frame.name = label;
      frames_.push_back(std::move(frame));
    }
  }
}

std::vector<uint32_t> StackFrames::root_first(const Stack& stack) const {
  std::vector<uint32_t> result;
  for (const std::string& label : root_labels(stack)) {
    result.push_back(of_label_.at(label));
  }
  const size_t labels = result.size();
  for (auto location = stack.locations.rbegin(); location != stack.locations.rend(); ++location) {
    const std::vector<uint32_t>& indices = of_location_[*location];
    result.insert(result.end(), indices.rbegin(), indices.rend());
  }
  if (result.size() == labels) {
    result.push_back(0);
  }
  return result;
}

}  // namespace memprof::profile
