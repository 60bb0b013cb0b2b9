// SPDX-License-Identifier: Apache-2.0
// What a Pyroscope says of the series that a query chooses: their labels, profile types and looks.
//
// Threads: no state.
// Failure: throws Failure "ADDRESS: why".
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "profile/model/metric.h"

namespace memprof::cli {

struct SeriesFacts {
  std::map<profile::Metric, std::string> types;         // ids of those that memprof knows, NAME:TYPE:UNIT:...
  std::set<std::string> other_types;                    // ids of all others
  std::map<std::string, std::set<std::string>> labels;  // values by name, without those of the profile type
};

// Of an answer of Series.  `name`: of the types; empty: there has to be one only.  `address` stands in messages.
SeriesFacts series_facts(const nlohmann::json& answer, const std::string& name, const std::string& address);

// The labels that tell apart whose looks are counted: a look when memory got short has others, and is one like any
// other (docs/fleet.md).
std::vector<std::string> counted_labels(const SeriesFacts& facts);

// Of these the one that names who looks: "host" where memprof does, and "host_name" by OpenTelemetry.  All
// series of a host are looked at together, so their looks are the same ones.  Empty: none does, and each series
// has looks of its own.
std::string looker_label(const SeriesFacts& facts);

// Looks of each looker by the steps of time that they are in.
using LookCounts = std::map<std::string, std::map<std::string, uint64_t>>;

// Of two answers of SelectSeries, of sums and of averages: their ratio is how many looks a series has in a
// step.  Of several numbers for one step, those of other series and what `counts` has, the largest stays.
void count_looks(const nlohmann::json& sums, const nlohmann::json& averages, const std::string& looker,
                 LookCounts* counts);

// The most and the fewest looks that a looker has; 0: there is none.
struct LookRange {
  uint64_t most = 0;
  uint64_t fewest = 0;
};
LookRange look_range(const LookCounts& counts);

}  // namespace memprof::cli
