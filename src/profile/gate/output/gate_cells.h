// SPDX-License-Identifier: Apache-2.0
// What verdicts say in words, the same in a terminal, in Markdown, in JUnit and in annotations.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/gate/verdict.h"

namespace memprof::profile {

// "peak at most 64 MB", "site parse: allocations_per_call at most 3".
std::string limit_title(const GateResult& result);

// "8.1 MiB  decode (json.c:12)"
std::string site_text(const GateResult& result, const GateSite& site);

// "exit status 3", "signal 9 (128 + 9)".
std::string status_text(int status);

// The name of a check, or of the file where it has none.
std::string check_title(const GateReport& report, const CheckResult& check);

// "9 limits hold, 1 is exceeded"
std::string summary_text(const GateReport& report);

}  // namespace memprof::profile
