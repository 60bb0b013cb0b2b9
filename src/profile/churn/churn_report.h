// SPDX-License-Identifier: Apache-2.0
// Churn as people read it, and for programs (docs/churn.md describes the JSON).
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/churn/churn.h"
#include "profile/report/report.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// `report`: of the same profile and stacks, for the header; it needs no table.
std::string churn_text(const Churn& churn, const Report& report, const TextOptions& options = {});
std::string churn_json(const Churn& churn, const Report& report);

}  // namespace memprof::profile
