// SPDX-License-Identifier: Apache-2.0
// Verdicts as a JUnit report: each check is a suite, each limit a test case, and so is the program's exit status.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/gate/verdict.h"

namespace memprof::profile {

std::string gate_junit(const GateReport& report);

}  // namespace memprof::profile
