// SPDX-License-Identifier: Apache-2.0
// What stands beside a row that is a line of a language's runtime: the native code that the line allocated through, and
// the line of the program's own that it did so for.
//
// Model: a row is many stacks.  Beside it stands what at least half of what the row holds belongs to.
//
// Threads: plain values.
#pragma once

#include <map>
#include <optional>

#include "profile/names/frame_grouping.h"

namespace memprof::profile {

// Each only where it is so for at least half of what the row holds.
struct RowNotes {
  std::optional<NativeCallee> through;
  std::optional<OwnLine> called_by;  // of a row of an installed package
};

// The notes of one row while its stacks are added.
class NoteSums {
 public:
  // A stack that ends in the row and holds `value`: the last one that was given to `grouping`.
  void add(double value, const FrameGrouping& grouping);
  // The same of another sum.
  void add(const NoteSums& other);
  // Of what was added, as seen against all that the row holds.
  RowNotes notes(double whole) const;

 private:
  std::map<NativeCallee, double> through_;
  std::map<OwnLine, double> called_by_;
};

}  // namespace memprof::profile
