// SPDX-License-Identifier: Apache-2.0
// Finds the functions that a user means by a text.
//
// Model: the first of these that finds something: the whole name, or as tables show it; its end from the
// start of a word, as tables show it, or without parameters and template arguments (`insert`, `Cache::insert`
// for `ns::Cache::insert(Key)`); a part of the name; a regular expression.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::profile {

struct FunctionMatch {
  std::vector<uint32_t> functions;       // indices into the names, ascending; empty: nothing was found
  std::vector<std::string> suggestions;  // then: names that are close, best first, few
  std::string pattern_error;             // and, where the text was no regular expression either, why
};

// `names` without doubles.
FunctionMatch find_functions(const std::vector<std::string>& names, const std::string& text);

}  // namespace memprof::profile
