// SPDX-License-Identifier: Apache-2.0
// Results of limits as a JUnit report, which CI systems show.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

namespace memprof::profile {

enum class JunitResult : unsigned char {
  kPassed,
  kFailed,
  kError,  // there is no verdict
};

struct JunitCase {
  std::string class_name;
  std::string name;
  JunitResult result = JunitResult::kPassed;
  std::string message;  // of what did not pass
  std::string details;  // lines under it
};

struct JunitSuite {
  std::string name;
  std::vector<JunitCase> cases;
  std::string output;  // of the suite: the report
};

// Texts may be of any bytes: what is not UTF-8 and control characters become `?`.
std::string junit_text(const std::vector<JunitSuite>& suites);

}  // namespace memprof::profile
