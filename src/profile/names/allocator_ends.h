// SPDX-License-Identifier: Apache-2.0
// What a known wrapper of malloc calls to get its memory is a part of that allocator, whatever it is called: Tcl's TclpAlloc
// cuts blocks out of pieces that static functions get for it, and with symbols of exported functions only these would be rows.
//
// Model: from the allocation outwards, functions of the wrapper's own module, kMaxInside at most.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profile/model/model.h"
#include "profile/names/frame_role.h"

namespace memprof::profile {

class AllocatorEnds {
 public:
  static constexpr size_t kMaxInside = 4;

  // `profile` must outlive it, and keep its locations.
  explicit AllocatorEnds(const Profile& profile) : profile_(profile), roles_(profile.locations.size()) {}

  // So many places of the stack, from the innermost on, are of such an allocator; 0: it has none.
  size_t of(const Stack& stack);

 private:
  // kWrapper where the outermost function of the location is a known wrapper; kOwn where it is another that does not only
  // allocate; kGap where nothing can be said: code that a runtime executes, a gap, a wrapper inside of an own function.
  FrameRole role_at(uint32_t location);
  FrameRole find_role(uint32_t location) const;

  const Profile& profile_;
  std::vector<std::optional<FrameRole>> roles_;
};

}  // namespace memprof::profile
