// SPDX-License-Identifier: Apache-2.0
// Whole stacks as sequences of named frames, root first and with inlined functions, as exporters write them.
//
// Threads: immutable once made.
// Owns: the names; the profile must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"
#include "profile/names/frame_name.h"

namespace memprof::profile {

class StackFrames {
 public:
  // By line: a function has a frame for each of its lines that is on a stack.  Else it has one, and its line is
  // that which holds the most.
  explicit StackFrames(const Profile& profile, GroupBy by = GroupBy::kFunction);

  // Frames that differ in name or file, or by line in that.
  const std::vector<Frame>& frames() const { return frames_; }

  // The frames of a stack, root first: indices into frames().  Its root_labels() come first.
  std::vector<uint32_t> root_first(const Stack& stack) const;

 private:
  void choose_lines(const Profile& profile);

  std::vector<Frame> frames_;
  std::vector<std::vector<uint32_t>> of_location_;  // innermost first
  std::map<std::string, uint32_t> of_label_;
};

// What a stack without one frame is called.
inline constexpr char kUnknownFrame[] = "(unknown)";

}  // namespace memprof::profile
