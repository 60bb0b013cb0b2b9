// SPDX-License-Identifier: Apache-2.0
// A share of a whole as a bar of characters.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>

namespace memprof::profile {

// In at most `width` columns: eighths of a column, or without UTF-8 whole ones.  What is not 0 is seen; of less
// than 0 the size is drawn.
std::string share_bar(double share, size_t width, bool has_utf8);
// With blanks behind it, as a cell of a table.
std::string bar_cell(double share, bool has_utf8);

}  // namespace memprof::profile
