// SPDX-License-Identifier: Apache-2.0
// The relabel table of --relabel: rules that change the labels of a process before it is shipped, or leave the process out.
// They are those of Prometheus's relabel_config, as [[relabel]] tables of a TOML file.
//
// Threads: plain values.
// Failure: a file that is wrong throws Failure, with the line; what a rule makes of a process's labels is shortened.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "memprof/ship/looks/labels.h"
#include "profile/matching/rewrite.h"

namespace memprof::cli {

enum class RelabelAction : unsigned char { kReplace, kKeep, kDrop, kLabelDrop, kLabelKeep };

struct RelabelRule {
  std::vector<std::string> sources;  // labels, whose values are joined by ";"
  profile::Rewrite rewrite;
  std::string target;
  RelabelAction action = RelabelAction::kReplace;
};

// Names that a rule may read beside labels; "__env_NAME" is a variable of the process.
inline constexpr char kPidName[] = "__pid";
inline constexpr char kContainerName[] = "__container_id";
inline constexpr char kBuildName[] = "__build_id";
inline constexpr char kVariablePrefix[] = "__env_";
// The value of one of these; empty: unknown.
using SpecialLabel = std::function<std::string(const std::string& name)>;

// `path`: for messages.
std::vector<RelabelRule> parse_relabel_rules(const std::string& text, const std::string& path);
std::vector<RelabelRule> read_relabel_rules(const std::string& path);

// Applies the rules in their order.  false: the process is left out.  service_name and host are always there after it.
bool relabel(const std::vector<RelabelRule>& rules, const SpecialLabel& special, Labels* labels);

}  // namespace memprof::cli
