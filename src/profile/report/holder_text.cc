// SPDX-License-Identifier: Apache-2.0
#include "profile/report/holder_text.h"

#include <fmt/format.h>

#include "profile/report/report.h"
#include "profile/text/units.h"

namespace memprof::profile {

std::string holder_text(const Profile& profile, const std::string& verb) {
  ReportOptions options;
  options.max_rows = 1;
  const Report report = build_report(profile, options);
  const size_t metric = metric_index(report.metric);
  const double whole = report.totals[metric].value;
  if (report.rows.empty() || whole <= 0) return "";
  const ReportRow& row = report.rows[0];
  return fmt::format("; {} {} {:.0f} % of {}", printable(row.name), verb,
                     100 * row.self[metric].value / whole, format_bytes(whole));
}

}  // namespace memprof::profile
