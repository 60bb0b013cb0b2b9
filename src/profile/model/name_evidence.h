// SPDX-License-Identifier: Apache-2.0
// What the lines of a mapping's locations really tell: pprof's flags say it of the whole mapping.
//
// Threads: plain values.
#pragma once

#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

struct NameEvidence {
  bool functions = false;
  bool filenames = false;
  bool line_numbers = false;
  bool inline_frames = false;
};

// By mapping.
inline std::vector<NameEvidence> name_evidence(const Profile& profile) {
  std::vector<NameEvidence> evidence(profile.mappings.size());
  for (const Location& location : profile.locations) {
    if (location.mapping >= evidence.size()) {
      continue;
    }
    NameEvidence& of_mapping = evidence[location.mapping];
    of_mapping.inline_frames |= location.lines.size() > 1;
    for (const Line& line : location.lines) {
      of_mapping.functions = true;
      of_mapping.filenames |= !profile.functions[line.function].filename.empty();
      of_mapping.line_numbers |= line.line != 0;
    }
  }
  return evidence;
}

}  // namespace memprof::profile
