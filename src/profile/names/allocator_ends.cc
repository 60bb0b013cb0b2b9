// SPDX-License-Identifier: Apache-2.0
#include "profile/names/allocator_ends.h"

#include "profile/names/stack_frames.h"

namespace memprof::profile {

size_t AllocatorEnds::of(const Stack& stack) {
  size_t inside = 0;
  uint32_t module = 0;  // of those inside
  size_t end = 0;
  for (size_t place = 0; place < stack.locations.size(); ++place) {
    const FrameRole role = role_at(stack.locations[place]);
    if (role == FrameRole::kGap) break;
    if (role != FrameRole::kOwn && role != FrameRole::kWrapper) continue;
    const uint32_t its = profile_.locations[stack.locations[place]].mapping;
    if (inside != 0 && its != module) break;
    if (role == FrameRole::kWrapper) {
      if (inside != 0) end = place + 1;
      continue;
    }
    if (++inside > kMaxInside) break;
    module = its;
  }
  return end;
}

FrameRole AllocatorEnds::role_at(uint32_t location) {
  std::optional<FrameRole>& known = roles_[location];
  if (!known) known = find_role(location);
  return *known;
}

FrameRole AllocatorEnds::find_role(uint32_t location) const {
  FrameRole found = FrameRole::kLibrary;
  for (const Frame& frame : location_frames(profile_, profile_.locations[location])) {
    const FrameRole role = frame_role(frame);
    if (frame.is_executed || role == FrameRole::kGap) return FrameRole::kGap;
    const bool is_own = role == FrameRole::kOwn || role == FrameRole::kNameless;
    if (is_own && found == FrameRole::kWrapper) return FrameRole::kGap;
    if (is_own || role == FrameRole::kWrapper) found = is_own ? FrameRole::kOwn : role;
  }
  return found;
}

}  // namespace memprof::profile
