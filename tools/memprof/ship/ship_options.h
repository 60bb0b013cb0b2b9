// SPDX-License-Identifier: Apache-2.0
// The options of what is shipped, the same in `memprof ship` and `memprof run`: labels, and how targets are reached.
//
// Failure: throws Failure.
#pragma once

#include <string>
#include <vector>

#include "memprof/console/arguments.h"
#include "memprof/ship/looks/shipped_process.h"
#include "memprof/ship/targets/target.h"

namespace memprof::cli {

// What `memprof run --ship` asks for.
struct ShipChoice {
  std::vector<std::string> targets;
  double every_s = 60;
  LabelRules labels;
  TargetOptions network;
};

// "\n  http://HOST:PORT ...": a line for each kind of target, for the help of an option.
std::string list_of_targets();

// "--every" with a time from 100ms to 1h, in seconds.
double parse_ship_every(const std::string& option, const std::string& text);

// --service, --host, --label, --label-env, --pid-label, --container-label, --relabel
class ShipLabels {
 public:
  // Adds them to a command, which must outlive this.  `shown`: where those are that are used most.
  ShipLabels(ArgumentParser& parser, OptionText::Shown shown);

  // After the command has parsed its arguments.
  LabelRules rules() const;
  // The first one that was given; empty: none was.
  std::string given() const;

 private:
  ArgumentParser& parser_;
  std::string service_;
  std::string host_;
  std::vector<std::string> labels_;
  std::vector<std::string> from_environment_;
  std::string relabel_file_;
};

}  // namespace memprof::cli
