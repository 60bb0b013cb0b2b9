// SPDX-License-Identifier: Apache-2.0
// Who holds the memory of a profile, in half a sentence.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/model/model.h"

namespace memprof::profile {

// "; handle holds 61 % of 480.2 MiB": the first row of its report of what is live.  "": it has none.
std::string holder_text(const Profile& profile, const std::string& verb = "holds");

}  // namespace memprof::profile
