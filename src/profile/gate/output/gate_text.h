// SPDX-License-Identifier: Apache-2.0
// Verdicts as text for people: each check with its limits, and the sites of those that are exceeded.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/gate/verdict.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

std::string gate_text(const GateReport& report, const TextOptions& options);

// One check, as it stands in gate_text.
std::string check_text(const GateReport& report, const CheckResult& check, const TextOptions& options);

}  // namespace memprof::profile
