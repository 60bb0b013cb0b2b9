// SPDX-License-Identifier: Apache-2.0
// A process that is stopped where it can make calls, for the tests.
#pragma once

#include "memprof/attach/linux/target/survey.h"
#include "memprof/attach/linux/thread/remote_stack.h"
#include "memprof/attach/linux/thread/safe_point.h"
#include "memprof/attach/linux/thread/traced_thread.h"
#include "tests/tools/memprof/attach/linux/target_process.h"

namespace memprof::cli::testing_tools {

struct StoppedThread {
  explicit StoppedThread(const TargetProcess& process)
      : target(survey(process.pid())),
        walker(process.pid(), TargetMemory(process.pid(), TargetMemory::Access::kRead), target.images,
               places_in(target)),
        thread(static_cast<pid_t>(process.pid())),
        point(reach_safe_point(target, walker, &thread)) {}

  Target target;
  RemoteStack walker;
  TracedThread thread;
  SafePoint point;
};

}  // namespace memprof::cli::testing_tools
