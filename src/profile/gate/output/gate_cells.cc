// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/gate_cells.h"

#include <fmt/format.h>

#include "profile/compare/comparison_cells.h"
#include "profile/text/units.h"

namespace memprof::profile {

std::string limit_title(const GateResult& result) {
  const std::string limit =
      result.max.empty() ? result.key : fmt::format("{} at most {}", result.key, result.max);
  if (result.kind == ScopeKind::kSite) return fmt::format("site {}: {}", result.scope, limit);
  return result.kind == ScopeKind::kRow ? fmt::format("{}: {}", result.scope, limit) : limit;
}

std::string site_text(const GateResult& result, const GateSite& site) {
  return fmt::format("{}  {}", format_metric(result.metric, site.value), row_text(site.group, site.notes));
}

std::string status_text(int status) {
  constexpr int kSignal = 128;
  if (status <= kSignal) return fmt::format("exit status {}", status);
  return fmt::format("exit status {} (signal {})", status, status - kSignal);
}

std::string check_title(const GateReport& report, const CheckResult& check) {
  return check.name.empty() ? report.path : check.name;
}

std::string summary_text(const GateReport& report) {
  const size_t passed = report.count(Verdict::kPass);
  const size_t failed = report.count(Verdict::kFail);
  const size_t none = report.count(Verdict::kNone);
  std::string out = fmt::format("{} {}", passed, passed == 1 ? "limit holds" : "limits hold");
  if (failed != 0) out += fmt::format(", {} failed", failed);
  if (none != 0) out += fmt::format(", {} without a verdict", none);
  return out;
}

}  // namespace memprof::profile
