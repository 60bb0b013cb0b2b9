// SPDX-License-Identifier: Apache-2.0
// One check of `memprof check`: runs its program as often as it needs, or reads its profiles, and judges them.
//
// Threads: one at a time, in a program with one thread.
// Failure: what keeps one check from a verdict stands in its result; throws Failure where the user ended it.
#pragma once

#include <optional>
#include <string>

#include "memprof/io/http/http_access.h"
#include "memprof/io/profile_input.h"
#include "profile/gate/limit_file.h"
#include "profile/gate/verdict.h"

namespace memprof::cli {

struct CheckRunOptions {
  std::optional<uint64_t> rate_bytes;  // of all runs; else each check has its own
  std::string keep;                    // the folder for profiles of runs; empty: they are not kept
  bool force = false;                  // replaces them
  AskServers ask_servers = AskServers::kYes;
  HttpAccess access;  // to servers that have profiles
};

profile::CheckResult run_check(const profile::GateCheck& check, const CheckRunOptions& options);

// The command of a run with so many iterations.
std::vector<std::string> with_count(const std::vector<std::string>& command, uint64_t count);

}  // namespace memprof::cli
