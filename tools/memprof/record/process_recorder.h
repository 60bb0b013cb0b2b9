// SPDX-License-Identifier: Apache-2.0
// Records a running process from outside: a look every so often until it ends or SIGINT, SIGTERM or SIGHUP
// comes, and one then.
//
// Failure: throws Failure and profile::Error; the looks so far are in the file.
#pragma once

#include "memprof/host/process/running_process.h"
#include "memprof/record/record_options.h"

namespace memprof::cli {

// Returns the exit status.
int record_process(const RunningProcess& process, const RecordChoice& choice);

}  // namespace memprof::cli
