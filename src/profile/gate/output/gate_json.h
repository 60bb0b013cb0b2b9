// SPDX-License-Identifier: Apache-2.0
// Verdicts as JSON, for programs.  docs/check.md describes it.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/gate/verdict.h"

namespace memprof::profile {

std::string gate_json(const GateReport& report);

}  // namespace memprof::profile
