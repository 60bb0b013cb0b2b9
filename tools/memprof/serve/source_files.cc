// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/source_files.h"

#include <charconv>

#include "profile/page/page_data.h"
#include "profile/page/page_sources.h"
#include "profile/text/markup/json_text.h"

namespace memprof::cli {
namespace {

std::optional<std::string> from_hexadecimal(const std::string& digits, size_t at) {
  std::string text;
  for (; at + 2 <= digits.size(); at += 2) {
    uint8_t byte = 0;
    const char* const end = digits.data() + at + 2;
    const auto parsed = std::from_chars(digits.data() + at, end, byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    text += static_cast<char>(byte);
  }
  if (at != digits.size()) return std::nullopt;
  return text;
}

}  // namespace

void SourceFiles::know(const profile::Profile& profile) {
  for (const profile::Function& function : profile.functions) {
    const std::string& path = function.filename;
    if (!path.empty() && path.front() == '/') paths_.insert(path);
  }
  time_unix_ns_ = profile.time_unix_ns;
}

std::optional<PageFile> SourceFiles::file(const std::string& name) const {
  const size_t begin = sizeof kAddress - 1;
  if (name.compare(0, begin, kAddress) != 0) return std::nullopt;
  const auto path = from_hexadecimal(name, begin);
  if (!path || paths_.count(*path) == 0) return std::nullopt;
  const nlohmann::ordered_json text = profile::read_source(*path, rule_, time_unix_ns_);
  if (text.is_null()) return std::nullopt;
  return PageFile{"application/json", "source.json", profile::json_to_text(text)};
}

}  // namespace memprof::cli
