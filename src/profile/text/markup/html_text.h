// SPDX-License-Identifier: Apache-2.0
// Texts and bytes as parts of an HTML or SVG file.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::profile {

// Escapes text for HTML, also inside a quoted attribute.  Invalid UTF-8 and characters that control a terminal or
// the direction of writing become `?`.
std::string html_text(const std::string& text);

}  // namespace memprof::profile
