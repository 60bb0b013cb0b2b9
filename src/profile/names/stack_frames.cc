// SPDX-License-Identifier: Apache-2.0
#include "profile/names/stack_frames.h"

#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "profile/model/estimate.h"

namespace memprof::profile {

StackFrames::StackFrames(const Profile& profile, GroupBy by) {
  using Key = std::tuple<std::string, std::string, int64_t>;
  Frame unknown;
  unknown.name = kUnknownFrame;
  std::map<Key, uint32_t> index_of = {{Key(unknown.name, "", 0), 0}};
  frames_.push_back(std::move(unknown));
  of_location_.reserve(profile.locations.size());
  for (const Location& location : profile.locations) {
    std::vector<uint32_t>& indices = of_location_.emplace_back();
    for (Frame& frame : location_frames(profile, location)) {
      const auto next = static_cast<uint32_t>(frames_.size());
      const auto [known, is_new] =
          index_of.emplace(Key(frame.name, frame.file, by == GroupBy::kLine ? frame.line : 0), next);
      if (is_new) {
        frames_.push_back(std::move(frame));
      }
      indices.push_back(known->second);
    }
  }
  if (by != GroupBy::kLine) choose_lines(profile);
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

void StackFrames::choose_lines(const Profile& profile) {
  const Metric metric = default_metric(profile);
  std::vector<double> values(profile.locations.size());
  for (const Stack& stack : profile.stacks) {
    const double value = std::abs(estimated_value(stack, metric));
    for (const uint32_t location : stack.locations) values[location] += value;
  }
  std::map<std::pair<uint32_t, int64_t>, double> lines;
  for (size_t i = 0; i < profile.locations.size(); ++i) {
    const std::vector<Line>& known = profile.locations[i].lines;
    for (size_t k = 0; k < known.size() && k < of_location_[i].size(); ++k) {
      lines[{of_location_[i][k], known[k].line}] += values[i];
    }
  }
  std::vector<double> largest(frames_.size(), -1);
  for (const auto& [key, value] : lines) {
    const auto& [frame, line] = key;
    if (value <= largest[frame]) continue;
    largest[frame] = value;
    frames_[frame].line = line;
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
