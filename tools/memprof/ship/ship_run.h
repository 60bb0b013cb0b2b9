// SPDX-License-Identifier: Apache-2.0
// memprof ship, from its options on.
//
// Threads: one for each target, two or three for scrapers, and the caller's.
// Failure: throws Failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memprof/host/process/running_process.h"
#include "memprof/ship/looks/shipped_process.h"
#include "memprof/ship/targets/target.h"

namespace memprof::cli {

struct ShipOptions {
  std::vector<std::string> targets;  // may be empty where somebody is served
  std::vector<RunningProcess> only;  // empty: all
  bool sees_containers = false;
  LabelRules labels;
  double every_s = 60;
  std::optional<size_t> count;  // looks, then it ends
  std::string spool;
  uint64_t spool_bytes = uint64_t{256} << 20;
  int64_t spool_age_ms = int64_t{50} * 60 * 1000;  // Pyroscope takes what is younger than an hour
  std::string metrics_file;
  std::string listen;             // parse_listen_address() takes it; "": nobody is served
  bool serves_debuginfo = false;  // there, too
  TargetOptions network;
};

int ship(const ShipOptions& options);

// What would be shipped, as text.
std::string ship_plan(const ShipOptions& options);

// Where the spool is if nothing else is said.
std::string usual_spool();
std::string host_name();

}  // namespace memprof::cli
