// SPDX-License-Identifier: Apache-2.0
// Verdicts for the tests of what is written of them: one passes, one fails, one is none; one program fails.
#pragma once

#include "profile/gate/verdict.h"

namespace memprof::profile::gate_fixture {

inline GateResult result(Verdict verdict, const std::string& key, const std::string& what) {
  GateResult result;
  result.verdict = verdict;
  result.key = key;
  result.max = "1 MB";
  result.line = 7;
  result.what = what;
  return result;
}

inline GateReport mixed() {
  GateReport report{"memprof.toml", {}};
  CheckResult& loop = report.checks.emplace_back();
  loop.name = "loop";
  loop.line = 4;
  loop.subject = "./loop {n}, n = 10 and 110";
  loop.status = 0;
  loop.rate_bytes = 65536;
  loop.samples = 1234;
  loop.warnings = {"the run: 3 samples were dropped"};
  loop.kept = {"kept/loop.pb.gz"};
  loop.results.push_back(result(Verdict::kPass, "peak", "0.5 MiB"));
  GateResult fail = result(Verdict::kFail, "growth_per_iteration", "966 B an iteration");
  fail.per = LimitPer::kIteration;
  fail.estimate = Estimate{966.5, 960, 970, true};
  fail.sites = {{{"remember<int>", "src/loop.cc", 6, "loop", ""}, 96596, {}}, {{"f", "", 0, "", ""}, 12, {}}};
  loop.results.push_back(fail);
  GateResult none = result(Verdict::kNone, "live", "no stack matches 'x|y'");
  none.kind = ScopeKind::kSite;
  none.scope = "x|y";
  loop.results.push_back(none);
  CheckResult& fails = report.checks.emplace_back();
  fails.line = 20;
  fails.subject = "false";
  fails.status = 137;
  fails.error = "nothing was recorded";
  return report;
}

inline GateReport good() {
  GateReport report{"memprof.toml", {{}}};
  report.checks[0].status = 0;
  report.checks[0].results.push_back(result(Verdict::kPass, "peak", "0.5 MiB"));
  return report;
}

}  // namespace memprof::profile::gate_fixture
