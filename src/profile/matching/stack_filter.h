// SPDX-License-Identifier: Apache-2.0
// Chooses stacks by what is on them, as pprof's focus and ignore do.
//
// Model: an expression matches a frame if it is found in the name of its function (whole, as
// shown, or as in the symbol table), in its source file, or in the path of its module; a stack's named heap
// counts as one more frame.  Frames that reports leave out match, too, but for the allocation functions at
// the leaf: they are on every stack.  A stack stays if one of its frames matches `focus` and none `ignore`,
// and if its process, "NAME PID", matches `process`.
//
// Threads: one report's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/matching/pattern.h"
#include "profile/model/model.h"

namespace memprof::profile {

struct StackFilter {
  std::optional<Pattern> focus;
  std::optional<Pattern> ignore;
  std::optional<Pattern> process;

  bool is_empty() const { return !focus && !ignore && !process; }
};

// The expressions of a filter as they were given.
struct FilterTexts {
  std::optional<std::string> focus;
  std::optional<std::string> ignore;
  std::optional<std::string> process;

  bool is_empty() const { return !focus && !ignore && !process; }
};
FilterTexts filter_texts(const StackFilter& filter);

// "NAME PID", the label of a process.
std::string process_label(const Profile& profile);

// For each stack of the profile, whether it stays.
std::vector<bool> select_stacks(const Profile& profile, const StackFilter& filter);

}  // namespace memprof::profile
