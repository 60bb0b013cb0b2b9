// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_junit.h"

#include "profile/text/markup/junit_text.h"

namespace memprof::profile {

std::string comparison_junit(const std::vector<LimitResult>& limits, const std::string& text) {
  JunitSuite suite{"memprof diff", {}, text};
  for (const LimitResult& limit : limits) {
    suite.cases.push_back({"memprof.diff", limit.text,
                           limit.is_exceeded ? JunitResult::kFailed : JunitResult::kPassed, limit.what, ""});
  }
  return junit_text({suite});
}

}  // namespace memprof::profile
