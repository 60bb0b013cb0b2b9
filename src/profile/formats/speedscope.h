// SPDX-License-Identifier: Apache-2.0
// Writes a profile for speedscope.app: one `sampled` profile a metric, inuse_space first.
// Format: https://www.speedscope.app/file-format-schema.json
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/model/model.h"

namespace memprof::profile {

// `name` is the title that the viewer shows.
std::string write_speedscope(const Profile& profile, const std::string& name);

}  // namespace memprof::profile
