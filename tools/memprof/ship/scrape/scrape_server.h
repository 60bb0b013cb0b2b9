// SPDX-License-Identifier: Apache-2.0
// Serves what the processes of the machine hold to who comes for it, and how the shipper is: /debug/pprof/heap, /targets,
// /metrics, /healthz, /readyz.
//
// Model: connections have a thread that never waits; profiles are made by another, one at a time, which after each rests
// for as long as it took, up to a second: who asks without end gets half a core, and no look of the shipper waits for more
// than one of these.  There are so many that wait at most; more are told to come again.  On a loopback address the Host of
// a request must be this machine's: a web site cannot read what is here through a browser.  Files of programs by build id
// are served where that is wanted (debuginfo/debuginfo_server.h).
//
// Threads: two of its own while it lives, three where it serves files.
// Failure: throws Failure where no address can be had.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "memprof/serve/http_server.h"
#include "memprof/ship/looks/shipped_process.h"
#include "memprof/ship/scrape/ship_health.h"

namespace memprof::cli {

struct ScrapedShipper {
  ShippedProcesses* processes = nullptr;
  std::mutex* processes_mutex = nullptr;  // had by who looks at them
  const ShipHealth* health = nullptr;
  bool serves_debuginfo = false;
  std::function<std::string()> metrics;  // but for those of the server; called by its threads
};

class ScrapeServer {
 public:
  // What `shipper` names must outlive it.
  ScrapeServer(const HttpAddress& address, const ScrapedShipper& shipper);
  ~ScrapeServer();
  ScrapeServer(const ScrapeServer&) = delete;
  ScrapeServer& operator=(const ScrapeServer&) = delete;

  // Answers from now on.
  void start();
  // "127.0.0.1:4041"
  std::string host() const;
  // Whether nobody but this machine can reach it.
  bool is_local() const;
  // Whose files may be asked for.  Any thread.
  void watch(ShippedProcesses& processes);
  // What it counts, in the text form of Prometheus.  Any thread.
  std::string metrics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace memprof::cli
