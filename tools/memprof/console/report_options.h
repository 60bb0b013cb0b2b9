// SPDX-License-Identifier: Apache-2.0
// The options by which a reader says what to see of a profile, the same in all commands that show or write
// one: --by, --metric, --younger, --focus, --ignore, --process, --hide, --native, --imports, --all-frames,
// --native-interpreter, --full-names.
//
// Failure: throws Failure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memprof/console/arguments.h"
#include "profile/matching/stack_filter.h"
#include "profile/model/metric.h"
#include "profile/names/frame_grouping.h"

namespace memprof::cli {

// What these options say.
struct ReaderChoice {
  std::optional<profile::GroupBy> by;
  std::optional<profile::Metric> metric;
  std::optional<uint64_t> younger_ns;  // what is temporary
  profile::StackFilter filter;
  profile::FrameView view;
};

class ReaderOptions {
 public:
  // Adds them to a command, which must outlive this.  `refused`: those that the command takes only to say why they are
  // not for it; its help does not have them.
  explicit ReaderOptions(ArgumentParser& parser, const std::vector<std::string>& refused = {});

  // What was given; after the command has parsed its arguments.
  ReaderChoice choice() const;

 private:
  ArgumentParser& parser_;
  std::map<std::string, std::string> values_;
  profile::FrameView view_;
};

// The expression of an option.
profile::Pattern parse_pattern(const std::string& option, const std::string& text);

// The frames that --hide names.
std::shared_ptr<const profile::HiddenFrames> parse_hidden(const std::string& option, const std::string& text);

// Gives --younger its default where what is temporary is asked for.  Failure: throws Failure where it was given
// and neither that nor anything else uses it.
void settle_younger(bool is_temporary, bool is_used_else, std::optional<uint64_t>* younger_ns);

}  // namespace memprof::cli
