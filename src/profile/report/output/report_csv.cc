// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_csv.h"

#include <string>
#include <vector>

#include "profile/report/report_columns.h"
#include "profile/text/markup/column_values.h"

namespace memprof::profile {
namespace {

template <typename Row>
std::string rows_csv(const std::vector<Column<Row>>& columns, const std::vector<Row>& rows) {
  std::string text = csv_titles(columns);
  for (const Row& row : rows) text += csv_row(columns, row);
  return text;
}

}  // namespace

std::string report_csv(const Report& report) {
  return report.has_sizes ? rows_csv(size_columns(report), report.sizes)
                          : rows_csv(report_columns(report), report.rows);
}

}  // namespace memprof::profile
