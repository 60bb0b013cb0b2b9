// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/small_processes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace memprof::cli {
namespace {

bool is_small(const ProcessProfile& process, double largest_peak, double max_allocated) {
  const double max_held =
      std::min(SmallProcesses::kMaxHeldBytes, SmallProcesses::kShareOfLargest * largest_peak);
  const double allocated =
      std::min(SmallProcesses::kMaxAllocatedBytes, SmallProcesses::kShareOfLargest * max_allocated);
  return process.peak_bytes <= max_held && process.allocated_bytes <= allocated;
}

// Nobody asks for what it is: a crash, a heap that no sample shows, samples that are missing.
bool is_ordinary(const ProcessProfile& process, uint64_t started) {
  return (process.has_ended || process.pid != started) && !process.still_runs && !process.has_mappings &&
         process.dropped_samples == 0 && process.bypassing_libraries == 0 &&
         process.own_max_resident_bytes <= SmallProcesses::kMaxResidentBytes;
}

}  // namespace

SmallProcesses take_small_processes(std::vector<ProcessProfile>* processes, uint64_t started) {
  double largest_peak = 0;
  double max_allocated = 0;
  for (const ProcessProfile& process : *processes) {
    largest_peak = std::max(largest_peak, process.peak_bytes);
    max_allocated = std::max(max_allocated, process.allocated_bytes);
  }
  const auto is_small_one = [&](const ProcessProfile& process) {
    return !process.is_empty() && max_allocated > 0 && is_ordinary(process, started) &&
           is_small(process, largest_peak, max_allocated);
  };
  std::set<std::string> kept;
  for (const ProcessProfile& process : *processes) {
    if (!process.is_empty() && !is_small_one(process)) kept.insert(process.program);
  }
  SmallProcesses small;
  std::vector<ProcessProfile> others;
  for (ProcessProfile& process : *processes) {
    if (is_small_one(process) && kept.count(process.program) == 0) {
      ++small.count;
      small.allocated_bytes += process.allocated_bytes;
    } else {
      others.push_back(std::move(process));
    }
  }
  processes->swap(others);
  return small;
}

}  // namespace memprof::cli
