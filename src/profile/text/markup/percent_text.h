// SPDX-License-Identifier: Apache-2.0
// Text of addresses, in which bytes can be written as %XX.
//
// Threads: no state.
#pragma once

#include <string>
#include <string_view>

namespace memprof::profile {

// `%20` as a space.  What is no number stays as it is, as browsers have it.
std::string without_percents(std::string_view text);

}  // namespace memprof::profile
