// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/gate_junit.h"

#include <utility>
#include <vector>

#include "profile/gate/output/gate_cells.h"
#include "profile/gate/output/gate_text.h"
#include "profile/text/markup/junit_text.h"

namespace memprof::profile {
namespace {

JunitResult junit_result(Verdict verdict) {
  return verdict == Verdict::kPass   ? JunitResult::kPassed
         : verdict == Verdict::kFail ? JunitResult::kFailed
                                     : JunitResult::kError;
}

}  // namespace

std::string gate_junit(const GateReport& report) {
  std::vector<JunitSuite> suites;
  const TextOptions plain;
  for (const CheckResult& check : report.checks) {
    const std::string title = check_title(report, check);
    JunitSuite suite{"memprof check: " + title, {}, check_text(report, check, plain)};
    const std::string class_name = "memprof.check." + title;
    if (check.status) {
      suite.cases.push_back({class_name, "exit status",
                             *check.status == 0 ? JunitResult::kPassed : JunitResult::kFailed,
                             status_text(*check.status), ""});
    }
    if (!check.error.empty())
      suite.cases.push_back({class_name, "run", JunitResult::kError, check.error, ""});
    for (const GateResult& result : check.results) {
      std::string details;
      for (const GateSite& site : result.sites) details += site_text(result, site) + "\n";
      suite.cases.push_back(
          {class_name, limit_title(result), junit_result(result.verdict), result.what, std::move(details)});
    }
    suites.push_back(std::move(suite));
  }
  return junit_text(suites);
}

}  // namespace memprof::profile
