// SPDX-License-Identifier: Apache-2.0
// What somebody who misspelt a name probably meant.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

namespace memprof::profile {

// Of `names` the one that the fewest letters tell from `text`, the first of several; empty: more than a third of
// the letters would have to change.
std::string nearest_name(const std::string& text, const std::vector<std::string>& names);

}  // namespace memprof::profile
