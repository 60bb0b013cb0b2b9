// SPDX-License-Identifier: Apache-2.0
// `memprof view`: a profile as a page in the browser.
//
// Failure: throws Failure or profile::Error.
#pragma once

#include <string>
#include <vector>

#include "profile/model/model.h"

namespace memprof::cli {

int view_command(const std::vector<std::string>& arguments);

// Serves the page of the profile until Ctrl-C; `name` is its file's.
void view_profile(const profile::Profile& profile, const std::string& name);

}  // namespace memprof::cli
