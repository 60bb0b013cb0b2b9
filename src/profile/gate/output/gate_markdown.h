// SPDX-License-Identifier: Apache-2.0
// Verdicts as Markdown, for a comment on a pull request or the summary of a GitHub job.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/gate/verdict.h"

namespace memprof::profile {

std::string gate_markdown(const GateReport& report);

}  // namespace memprof::profile
