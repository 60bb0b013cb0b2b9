// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/text/text_writer.h"

namespace memprof::profile {
namespace {

// `text` is UTF-8 without control characters, but for line breaks.
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

}  // namespace

std::string comparison_junit(const std::vector<LimitResult>& limits, const std::string& text) {
  const auto failures =
      std::count_if(limits.begin(), limits.end(), [](const LimitResult& limit) { return limit.is_exceeded; });
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"memprof diff\" "
      "tests=\"{}\" "
      "failures=\"{}\" errors=\"0\" skipped=\"0\">\n",
      limits.size(), failures);
  for (const LimitResult& limit : limits) {
    out += fmt::format("<testcase classname=\"memprof.diff\" name=\"{}\"", escaped(printable(limit.text)));
    out += limit.is_exceeded
               ? fmt::format(">\n<failure message=\"{}\"/>\n</testcase>\n", escaped(printable(limit.what)))
               : std::string("/>\n");
  }
  return out + "<system-out>" + escaped(text) + "</system-out>\n</testsuite>\n</testsuites>\n";
}

}  // namespace memprof::profile
