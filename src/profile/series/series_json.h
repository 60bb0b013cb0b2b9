// SPDX-License-Identifier: Apache-2.0
// A series and its looks as JSON: in its file, and for programs (docs/series.md).
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/series/series.h"

namespace memprof::profile {

// On one line.
std::string series_facts_json(const Series& series);
std::string series_look_json(const SeriesLook& look);

// false: the text is not what the functions above make.  What it does not name stays as it was.
bool parse_series_facts(const std::string& text, Series* series);
bool parse_series_look(const std::string& text, SeriesLook* look);

// All of it, but for the profiles, indented.
std::string series_json(const Series& series);

}  // namespace memprof::profile
