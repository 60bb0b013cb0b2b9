// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/source_maps/script_url.h"

#include <algorithm>
#include <filesystem>

#include "format/affixes.h"
#include "profile/files/base64.h"
#include "profile/text/markup/percent_text.h"

namespace memprof::profile {
namespace {

constexpr std::string_view kFile = "file://";
constexpr std::string_view kData = "data:";

// `https:`, `webpack:`; one letter is none.
bool has_scheme(std::string_view url) {
  const size_t end =
      url.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
  return end != std::string_view::npos && end > 1 && url[end] == ':';
}

std::string normal(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

}  // namespace

std::string_view source_mapping_url(std::string_view script) {
  constexpr std::string_view kName = "sourceMappingURL=";
  for (size_t end = script.size();;) {
    const size_t at = script.rfind(kName, end);
    if (at == std::string_view::npos) return {};
    const std::string_view before = script.substr(0, at);
    const std::string_view mark = before.substr(before.size() - std::min<size_t>(before.size(), 4));
    if (mark == "//# " || mark == "//@ ") {
      const std::string_view url = script.substr(at + kName.size());
      return url.substr(0, url.find_first_of(" \t\r\n'\"`"));
    }
    if (at == 0) return {};
    end = at - 1;
  }
}

std::optional<std::string> data_of_url(std::string_view url) {
  if (!begins_with(url, kData)) return std::nullopt;
  const size_t comma = url.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const std::string_view kind = url.substr(0, comma);
  const std::string_view data = url.substr(comma + 1);
  constexpr std::string_view kBase64 = ";base64";
  const bool is_base64 =
      kind.size() >= kBase64.size() && kind.substr(kind.size() - kBase64.size()) == kBase64;
  return is_base64 ? from_base64(data) : without_percents(data);
}

std::string absolute_path(std::string_view url) {
  std::string path = begins_with(url, kFile) ? without_percents(url.substr(kFile.size())) : std::string(url);
  const bool is_path = !path.empty() && path[0] == '/' && path.find('\0') == std::string::npos;
  return is_path ? path : std::string();
}

std::string resolved(const std::string& folder, std::string_view url) {
  if (const std::string path = absolute_path(url); !path.empty()) return normal(path);
  return has_scheme(url) ? std::string(url) : normal(folder + "/" + std::string(url));
}

}  // namespace memprof::profile
