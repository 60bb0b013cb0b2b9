// SPDX-License-Identifier: Apache-2.0
// Writes a whole profile as JSON: totals, and every stack with its frames and its values with intervals.
// The format is an interface: docs/profile-json.md.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/model/model.h"

namespace memprof::profile {

std::string write_json(const Profile& profile);

}  // namespace memprof::profile
