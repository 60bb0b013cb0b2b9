// SPDX-License-Identifier: Apache-2.0
// Texts and bytes as parts of an HTML or SVG file.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::profile {

// As text, also in an attribute with quotes.  What is not UTF-8 and what controls a terminal or the direction
// of writing becomes `?`.
std::string html_text(const std::string& text);

}  // namespace memprof::profile
