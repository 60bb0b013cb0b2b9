// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/junit_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "profile/text/text_writer.h"

namespace memprof::profile {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string attribute(const std::string& text) {
  return escaped(printable(text));
}

// Line breaks stay.
std::string lines(const std::string& text) {
  std::string result;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    result += printable(text.substr(begin, end - begin));
    if (end < text.size()) result += '\n';
    begin = end + 1;
  }
  return escaped(result);
}

std::string case_text(const JunitCase& one) {
  std::string out =
      fmt::format("<testcase classname=\"{}\" name=\"{}\"", attribute(one.class_name), attribute(one.name));
  if (one.result == JunitResult::kPassed) return out + "/>\n";
  const char* element = one.result == JunitResult::kFailed ? "failure" : "error";
  out += fmt::format(">\n<{} message=\"{}\"", element, attribute(one.message));
  out += one.details.empty() ? "/>\n" : fmt::format(">{}</{}>\n", lines(one.details), element);
  return out + "</testcase>\n";
}

size_t count(const JunitSuite& suite, JunitResult result) {
  return static_cast<size_t>(std::count_if(suite.cases.begin(), suite.cases.end(),
                                           [&](const JunitCase& one) { return one.result == result; }));
}

}  // namespace

std::string junit_text(const std::vector<JunitSuite>& suites) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const JunitSuite& suite : suites) {
    out += fmt::format("<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\">\n",
                       attribute(suite.name), suite.cases.size(), count(suite, JunitResult::kFailed),
                       count(suite, JunitResult::kError));
    for (const JunitCase& one : suite.cases) out += case_text(one);
    if (!suite.output.empty()) out += "<system-out>" + lines(suite.output) + "</system-out>\n";
    out += "</testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace memprof::profile
