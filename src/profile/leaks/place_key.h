// SPDX-License-Identifier: Apache-2.0
// What tells the places of two profiles apart.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "profile/names/frame_grouping.h"

namespace memprof::profile {

using PlaceKey = std::tuple<std::string, std::string, int64_t, std::string>;

inline PlaceKey key_of(const FrameGroup& place) {
  return {place.name, place.file, place.line, place.module};
}

}  // namespace memprof::profile
