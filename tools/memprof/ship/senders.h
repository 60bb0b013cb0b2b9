// SPDX-License-Identifier: Apache-2.0
// The senders of all targets, and what none of them needs any more.
//
// Threads: one for each target from start() to finish(); the others call from one thread.
// Failure: throws Failure for targets that are none, and where the system gives no thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "memprof/ship/sender.h"
#include "memprof/ship/ship_metrics.h"
#include "memprof/ship/spool/spool.h"
#include "memprof/ship/targets/target.h"

namespace memprof::cli {

class Senders {
 public:
  // `network` needs no id of the spool.  `say`: as a Sender has it.
  Senders(const std::vector<std::string>& targets, TargetOptions network, int64_t max_age_ms, Spool& spool,
          const std::function<void(const std::string&)>& say = {});

  void start();
  void add(const QueuedLook& look);
  // Returns how many wait at the end.
  size_t finish(double seconds);
  std::vector<TargetFigures> figures();

 private:
  void done(uint64_t sequence);

  Spool& spool_;
  std::vector<std::unique_ptr<Sender>> all_;
};

}  // namespace memprof::cli
