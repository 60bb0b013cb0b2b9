// SPDX-License-Identifier: Apache-2.0
// What scrapers get of processes: a profile of those they choose, and the list of what there is to choose.
//
// Model: a profile is of one process or of several with a label in common, which are added up.  alloc_* are since the start,
// as Go has them; the sums are those of a report, to the byte.
//
// Threads: that which has the processes.
// Failure: throws ScrapeRefusal, whose text says what can be asked for.
#pragma once

#include <string>

#include "memprof/ship/looks/shipped_process.h"
#include "memprof/ship/scrape/scrape_query.h"
#include "profile/model/metric.h"

namespace memprof::cli {

inline constexpr char kHeapPath[] = "/debug/pprof/heap";
inline constexpr char kAllocsPath[] = "/debug/pprof/allocs";  // the same; scrapers take it for memory

// pprof in gzip.  `metric`: the default sample type.
std::string scraped_heap(ShippedProcesses& processes, const ScrapeQuery& query, profile::Metric metric);

// JSON as Prometheus's discovery by HTTP takes it: an entry for each set of labels.  `host`: "127.0.0.1:4041", by which the
// scraper reaches this.
std::string scrape_targets(ShippedProcesses& processes, const std::string& host);

}  // namespace memprof::cli
