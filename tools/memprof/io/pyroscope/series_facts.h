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

// Looks of each series, by its labels.
using LookCounts = std::map<std::string, uint64_t>;

// Of two answers of SelectSeries, of sums and of averages: their ratio is how many looks there were.  What `counts` has
// more of stays.
void count_looks(const nlohmann::json& sums, const nlohmann::json& averages, LookCounts* counts);

}  // namespace memprof::cli
