// SPDX-License-Identifier: Apache-2.0
// Opens a page in the user's browser.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::cli {

bool has_display();

// By xdg-open, where there is a display.  False: there is none, or no xdg-open.  `page` becomes an argument of other
// programs, which every user can read: it must be no secret (serve/redirect_file.h).
bool open_in_browser(const std::string& page);

}  // namespace memprof::cli
