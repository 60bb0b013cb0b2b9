// SPDX-License-Identifier: Apache-2.0
// Gives the frames of scripts that were made of another language (TypeScript), or put into a bundle, the file and line of their
// source, by the source maps of the scripts.
//
// Model: a script's map is in its comment `//# sourceMappingURL=`, in the file that this names, or in SCRIPT.map.  Lines that a
// map does not know, or that stand for many (source_map.h), stay as they are.  Frames that become the same place are one
// location, and stacks that become equal are summed.
//
// Threads: no state.
// Memory, time: one script at a time; in proportion to it and its map, which may have 256 MiB.
// Failure: what cannot be used is a warning, and its lines stay.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

struct SourceMapOptions {
  std::string
      folder;  // where NAME.js.map is looked for first, whatever the time of the script; empty: nowhere else
};

struct SourceMapSummary {
  size_t scripts = 0;                 // files in the profile, without those of the runtime itself
  size_t mapped = 0;                  // of them, those with a map
  std::vector<std::string> warnings;  // one line each, "PATH: what is wrong"
};

SourceMapSummary apply_source_maps(const SourceMapOptions& options, Profile* profile);

}  // namespace memprof::profile
