// SPDX-License-Identifier: Apache-2.0
// Opens an address in the user's browser.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::cli {

// By xdg-open, where there is a display.  False: there is none, or no xdg-open.
bool open_in_browser(const std::string& url);

}  // namespace memprof::cli
