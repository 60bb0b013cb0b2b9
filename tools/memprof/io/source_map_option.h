// SPDX-License-Identifier: Apache-2.0
// --source-maps and --source-maps-in of the commands that read profiles: lines of the sources (TypeScript) that scripts were made
// of.
//
// Failure: throws Failure.
#pragma once

#include <optional>
#include <string>

#include "memprof/console/arguments.h"
#include "profile/model/model.h"
#include "profile/symbolize/source_maps/source_lines.h"

namespace memprof::cli {

using SourceMapChoice = std::optional<profile::SourceMapOptions>;  // nothing: lines are those of the scripts

class SourceMapOption {
 public:
  // Adds them to a command, which must outlive this.
  explicit SourceMapOption(ArgumentParser& parser);

  // What was given; after the command has parsed its arguments.
  SourceMapChoice choice() const;

 private:
  ArgumentParser& parser_;
  std::string folder_;
};

// Warnings are printed, few of many.
profile::Profile with_source_lines(profile::Profile profile, const SourceMapChoice& choice);

}  // namespace memprof::cli
