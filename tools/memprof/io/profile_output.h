// SPDX-License-Identifier: Apache-2.0
// Writes the profile that a command made.
//
// Failure: throws profile::Error "PATH: why, and what to do".
#pragma once

#include <string>

#include "profile/model/model.h"
#include "profile/pprof/passing/passing_profile.h"

namespace memprof::cli {

// As pprof, compressed unless the name ends in .pb; as a whole or not at all.  `force`: replaces what is
// there.
void write_profile(const profile::Profile& profile, const std::string& path, bool force);
// The same; returns the sum of its samples.
profile::Accumulator write_profile(const profile::PassingProfile& profile, const std::string& path,
                                   bool force);

}  // namespace memprof::cli
