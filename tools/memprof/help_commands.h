// SPDX-License-Identifier: Apache-2.0
// `memprof completion` and `memprof manual`: what the other commands say of themselves, for shells and for man.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// Both return the exit status.
int completion_command(const std::vector<std::string>& arguments);
int manual_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
