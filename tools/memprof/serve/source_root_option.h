// SPDX-License-Identifier: Apache-2.0
// --source-root of the commands that show source text: folders whose source files may be shown whoever made the profile.
//
// Failure: throws Failure.
#pragma once

#include <string>
#include <vector>

#include "memprof/console/arguments.h"
#include "memprof/host/process/running_process.h"
#include "profile/files/source_file.h"

namespace memprof::cli {

class SourceRootOption {
 public:
  // Adds it to a command, which must outlive this.
  explicit SourceRootOption(ArgumentParser& parser);

  // The folders that were given; after the command has parsed its arguments.
  std::vector<std::string> roots() const;

 private:
  std::vector<std::string> folders_;
};

// Whether the profile at `path` (a file, or a series with a moment like server.series@peak) was made by this user, and
// nobody else can have changed it.  Of standard input (`-`) that is not known: false.
bool is_own_profile(const std::string& path);

// What may be shown of a profile in a file, or of standard input, whose maker is not known.  Prints a line where that is
// nothing.
profile::SourceRule source_rule_of_file(const std::string& path, std::vector<std::string> roots);

// The same of a process that runs.
profile::SourceRule source_rule_of_process(const RunningProcess& process, std::vector<std::string> roots);

}  // namespace memprof::cli
