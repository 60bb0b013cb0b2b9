// SPDX-License-Identifier: Apache-2.0
// The columns of a table of changes: of text, Markdown, JSON, and of a page's table without script.
//
// Threads: no state.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "profile/compare/comparison.h"
#include "profile/text/columns.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// How the table of some of the rows is shown.
struct ChangeTable {
  std::string title = "change";  // of the column of changes
  double largest_change = 0;     // of the table's rows: how long bars are
  TextOptions options{};
};

// They keep a reference to the comparison.
std::vector<Column<ComparisonRow>> comparison_columns(const Comparison& comparison,
                                                      const ChangeTable& table = {});

// A change, and both ends of its interval.
nlohmann::ordered_json change_value(const Change& change);

// The place of a row.
const FrameGroup& place_of(const ComparisonRow& row);

}  // namespace memprof::profile
