// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/gate_markdown.h"

#include <fmt/format.h>

#include "profile/gate/output/gate_cells.h"
#include "profile/text/markup/markdown_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

const char* bold_verdict(Verdict verdict) {
  return verdict == Verdict::kPass ? "pass" : verdict == Verdict::kFail ? "**FAIL**" : "**no verdict**";
}

std::string check_markdown(const GateReport& report, const CheckResult& check) {
  std::string out = fmt::format("#### {}\n\n", markdown_plain(check_title(report, check)));
  if (!check.subject.empty()) out += markdown_code(check.subject) + "\n\n";
  if (check.status.value_or(0) != 0) {
    out += fmt::format("- **FAIL** the program failed: {}\n\n", status_text(*check.status));
  }
  if (!check.error.empty()) out += fmt::format("- **no verdict** {}\n\n", markdown_plain(check.error));
  if (!check.results.empty()) out += "| | limit | measured |\n|---|---|---|\n";
  for (const GateResult& result : check.results) {
    out += fmt::format("| {} | {} | {} |\n", bold_verdict(result.verdict), markdown_code(limit_title(result)),
                       markdown_plain(result.what));
  }
  for (const GateResult& result : check.results) {
    if (result.sites.empty()) continue;
    out += fmt::format("\n{}:\n\n", markdown_plain(limit_title(result)));
    for (const GateSite& site : result.sites) {
      out += fmt::format(
          "- {} {}\n", format_metric(result.metric, site.value),
          markdown_code(site.group.name) +
              (site.group.file.empty()
                   ? std::string()
                   : " " + markdown_plain(fmt::format("{}:{}", site.group.file, site.group.line))));
    }
  }
  out += '\n';
  for (const std::string& warning : check.warnings) out += "- warning: " + markdown_plain(warning) + "\n";
  return check.warnings.empty() ? out : out + "\n";
}

}  // namespace

std::string gate_markdown(const GateReport& report) {
  std::string out = fmt::format("### Memory: {}\n\n", markdown_plain(summary_text(report)));
  for (const CheckResult& check : report.checks) out += check_markdown(report, check);
  return out;
}

}  // namespace memprof::profile
