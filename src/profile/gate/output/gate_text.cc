// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/gate_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/gate/output/gate_cells.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

const char* short_verdict(Verdict verdict) {
  return verdict == Verdict::kPass ? "pass" : verdict == Verdict::kFail ? "FAIL" : "????";
}

void write_result(const GateResult& result, size_t width, TextWriter* writer) {
  const std::string line = fmt::format("  {}  {:<{}}  {}", short_verdict(result.verdict),
                                       printable(limit_title(result)), width, printable(result.what));
  writer->line(result.verdict == Verdict::kPass ? line : writer->bold(line));
  for (const GateSite& site : result.sites) writer->line("        " + printable(site_text(result, site)));
}

std::string heading(const GateReport& report, const CheckResult& check) {
  std::string line = check_title(report, check);
  if (!check.subject.empty()) line += ": " + check.subject;
  std::string facts;
  if (check.status) facts = status_text(*check.status);
  if (check.error.empty()) {
    facts += facts.empty() ? "" : ", ";
    facts += check.rate_bytes <= 1 ? "every allocation recorded" : "rate " + format_rate(check.rate_bytes);
    facts += fmt::format(", {} samples", format_count(static_cast<double>(check.samples)));
  }
  return facts.empty() ? line : line + " (" + facts + ")";
}

void write_check(const GateReport& report, const CheckResult& check, TextWriter* writer) {
  writer->line(printable(heading(report, check)));
  if (check.status.value_or(0) != 0) {
    writer->line(writer->bold(fmt::format("  FAIL  the program failed: {}", status_text(*check.status))));
  }
  if (!check.error.empty()) writer->line(writer->bold("  ????  " + printable(check.error)));
  size_t width = 0;
  for (const GateResult& result : check.results) width = std::max(width, limit_title(result).size());
  constexpr size_t kWidest = 48;
  for (const GateResult& result : check.results) write_result(result, std::min(width, kWidest), writer);
  for (const std::string& warning : check.warnings) writer->line("  warning: " + printable(warning));
  for (const std::string& path : check.kept) writer->line("  memprof report " + printable(path));
}

}  // namespace

std::string check_text(const GateReport& report, const CheckResult& check, const TextOptions& options) {
  TextWriter writer(options);
  write_check(report, check, &writer);
  return writer.take();
}

std::string gate_text(const GateReport& report, const TextOptions& options) {
  TextWriter writer(options);
  for (const CheckResult& check : report.checks) {
    write_check(report, check, &writer);
    writer.blank();
  }
  writer.line(summary_text(report));
  return writer.take();
}

}  // namespace memprof::profile
