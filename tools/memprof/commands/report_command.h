// SPDX-License-Identifier: Apache-2.0
// `memprof report`: shows a profile as a table or as JSON.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int report_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
