// SPDX-License-Identifier: Apache-2.0
// Text in Markdown, as GitHub shows it.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::profile {

// A name as code, also in a table's cell: it may have bars and backticks.
std::string markdown_code(const std::string& name);

// Text that is no markup.
std::string markdown_plain(const std::string& text);

}  // namespace memprof::profile
