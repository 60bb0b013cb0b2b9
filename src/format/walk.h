// SPDX-License-Identifier: Apache-2.0
// Why the walk of a stack ended: the list from which the enum, the names in reports and JSON, and the keys in
// comments follow.  A new ending is a line here, one in memprof.h (MEMPROF_WALK_*, which capi/statistics.cc
// compares), and one in docs/report-json.md.
//
// Numbers are written to files: a new one goes to the end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof {

// X(enumerator, name in files, name in memprof.h behind MEMPROF_WALK_)
#define MEMPROF_WALKS(X)                                                                      \
  X(kRoot, root, ROOT)                                /* the outermost frame was reached */   \
  X(kDepthLimit, depth_limit, DEPTH_LIMIT)            /* cut; the leaf's end was kept */      \
  X(kBadFrame, bad_frame, BAD_FRAME)                  /* the next frame was implausible */    \
  X(kLeftStack, left_stack, LEFT_STACK)               /* it was outside the thread's stack */ \
  X(kNoRule, no_rule, NO_RULE)                        /* its code is unknown */               \
  X(kMiddleLeftOut, middle_left_out, MIDDLE_LEFT_OUT) /* both ends are there */

enum class Walk : uint8_t {
#define MEMPROF_ENUMERATOR(enumerator, name, NAME) enumerator,
  MEMPROF_WALKS(MEMPROF_ENUMERATOR)
#undef MEMPROF_ENUMERATOR
};

struct WalkName {
  const char* name;  // "depth_limit"
  const char* key;   // "walk_depth_limit", in the profile's comment
};
inline constexpr WalkName kWalkNames[] = {
#define MEMPROF_NAME(enumerator, name, NAME) {#name, "walk_" #name},
    MEMPROF_WALKS(MEMPROF_NAME)
#undef MEMPROF_NAME
};
inline constexpr uint32_t kWalkReasons = sizeof(kWalkNames) / sizeof(kWalkNames[0]);

inline constexpr const char* walk_name(Walk walk) {
  return kWalkNames[static_cast<size_t>(walk)].name;
}

// Whether the outermost frames of a stack that ended so are missing.
inline constexpr bool is_cut(Walk walk) {
  return walk != Walk::kRoot && walk != Walk::kMiddleLeftOut;
}

}  // namespace memprof
