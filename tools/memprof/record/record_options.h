// SPDX-License-Identifier: Apache-2.0
// The options of a recording: --record, --every and --limit, the same in `memprof live` and `memprof run`.
//
// Failure: throws Failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memprof/console/arguments.h"
#include "memprof/io/profile_input.h"

namespace memprof::cli {

struct RecordChoice {
  std::string pattern;                               // of the file's path (io/path_pattern.h)
  uint64_t every_ns = 10'000'000'000;                // between two looks
  uint64_t max_bytes = uint64_t{256} * 1024 * 1024;  // of the file
  bool force = false;
  AskServers ask_servers = AskServers::kYes;
};

class RecordOptions {
 public:
  // Adds them to a command, which must outlive this.  `usual`: the pattern where --every alone is given; empty: --record
  // must be.
  explicit RecordOptions(ArgumentParser& parser, const std::string& usual = {});

  // What was given, after the command has parsed its arguments; nothing: no recording is wanted.
  std::optional<RecordChoice> choice() const;

 private:
  ArgumentParser& parser_;
  const std::string usual_;
  std::string file_;
  std::string every_;
  std::string limit_;
};

}  // namespace memprof::cli
