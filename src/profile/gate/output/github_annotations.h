// SPDX-License-Identifier: Apache-2.0
// Verdicts as workflow commands of GitHub Actions, which shows each at the line of a file: at the largest site
// whose source is in the repository, else at the limit.
//
// Threads: no state; looks which files there are.
#pragma once

#include <string>

#include "profile/gate/verdict.h"

namespace memprof::profile {

// `root`: the folder of the repository, absolute.  Empty where all passed without a warning.
std::string github_annotations(const GateReport& report, const std::string& root);

}  // namespace memprof::profile
