// SPDX-License-Identifier: Apache-2.0
// What the shipper counts of itself, in the text form of Prometheus, for the collector of text files that node_exporter
// has, and for scrapers.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "memprof/ship/shipper.h"
#include "memprof/ship/spool/target_state.h"
#include "profile/symbolize/cache/name_cache.h"

namespace memprof::cli {

struct TargetFigures {
  std::string name;
  ShipCounts counts;
  size_t waiting = 0;
  std::string problem;  // why the last look was not taken; empty: it was
};

std::string metrics_text(const LookCounts& looks, const std::vector<TargetFigures>& targets,
                         uint64_t spool_bytes);

// Of the cache of names.
std::string name_metrics_text(const profile::NameCacheCounts& counts);

// As a whole; where it cannot be written, that is said, and the shipper goes on.
void write_metrics(const std::string& path, const std::string& text);

}  // namespace memprof::cli
