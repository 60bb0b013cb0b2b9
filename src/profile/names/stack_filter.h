// SPDX-License-Identifier: Apache-2.0
// Chooses stacks by what is on them, as pprof's focus and ignore do.
//
// Model: an expression matches a frame if it is found in the name of its function (whole, as
// shown, or as in the symbol table), in its source file, or in the path of its module; a stack's named heap
// counts as one more frame.  Frames that reports leave out match, too, but for the allocation functions at
// the leaf: they are on every stack.  A stack stays if one of its frames matches `focus` and none `ignore`.
//
// Threads: one report's own.
#pragma once

#include <optional>
#include <vector>

#include "profile/model/model.h"
#include "profile/names/pattern.h"

namespace memprof::profile {

struct StackFilter {
  std::optional<Pattern> focus;
  std::optional<Pattern> ignore;

  bool is_empty() const { return !focus && !ignore; }
};

// For each stack of the profile, whether it stays.
std::vector<bool> select_stacks(const Profile& profile, const StackFilter& filter);

}  // namespace memprof::profile
