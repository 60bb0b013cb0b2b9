// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/collapsed.h"

#include <fmt/format.h>

#include <map>

#include "profile/model/estimate.h"
#include "profile/names/stack_frames.h"
#include "profile/text/signed_rounding.h"

namespace memprof::profile {
namespace {

std::string escaped(const std::string& name) {
  std::string result = name;
  for (char& c : result) {
    if (c == ';') {
      c = ':';
    } else if (static_cast<unsigned char>(c) < ' ') {
      c = ' ';
    }
  }
  return result;
}

}  // namespace

std::string write_collapsed(const Profile& profile, Metric metric, GroupBy by) {
  const StackFrames stack_frames(profile, by);
  std::vector<std::string> names;
  for (const Frame& frame : stack_frames.frames()) {
    names.push_back(escaped(frame.name));
    if (by == GroupBy::kLine && frame.line > 0) names.back() += ":" + std::to_string(frame.line);
  }
  // Stacks that differ in addresses only are one line; the map sorts them.
  std::map<std::string, double> lines;
  for (const Stack& stack : profile.stacks) {
    std::string line;
    for (const uint32_t frame : stack_frames.root_first(stack)) {
      if (!line.empty()) {
        line += ';';
      }
      line += names[frame];
    }
    lines[line] += estimated_value(stack, metric);
  }
  std::string out;
  SignedRounding rounding;
  for (const auto& [line, value] : lines) {
    if (const int64_t rounded = rounding.round(value)) {
      out += fmt::format("{} {}\n", line, rounded);
    }
  }
  return out;
}

}  // namespace memprof::profile
