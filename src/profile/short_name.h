// SPDX-License-Identifier: Apache-2.0
// Makes the name of a function fit a column.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memprof::profile {

// Columns that UTF-8 text takes, one a character.
size_t text_width(std::string_view text);

// At most `width` columns: first the parameters become `(…)`, then template arguments `<…>`, then the middle
// goes.
std::string short_name(const std::string& name, size_t width);

// Without parameters and template arguments: `ns::Cache::insert`.
std::string plain_name(const std::string& name);

}  // namespace memprof::profile
