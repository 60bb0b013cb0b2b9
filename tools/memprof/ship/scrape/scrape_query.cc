// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/scrape/scrape_query.h"

#include <charconv>
#include <cstddef>

namespace memprof::cli {
namespace {

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '+') {
      out += ' ';
    } else if (text[at] != '%') {
      out += text[at];
    } else {
      unsigned byte = 0;
      const char* const digits = text.data() + at + 1;
      const bool are_there = text.size() - at > 2;
      if (!are_there || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
        throw ScrapeRefusal(kHttpBadRequest, "the address has a % without two hexadecimal digits behind it");
      }
      out += static_cast<char>(byte);
      at += 2;
    }
  }
  return out;
}

}  // namespace

ScrapeQuery parse_scrape_query(std::string_view target) {
  ScrapeQuery query;
  const size_t mark = target.find('?');
  query.path = std::string(target.substr(0, mark));
  if (mark == std::string_view::npos) return query;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const size_t end = rest.find('&');
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (one.empty()) continue;
    const size_t equal = one.find('=');
    const std::string name = decoded(one.substr(0, equal));
    const std::string value = equal == std::string_view::npos ? "" : decoded(one.substr(equal + 1));
    if (!query.parameters.emplace(name, value).second) {
      throw ScrapeRefusal(kHttpBadRequest, "the parameter " + name + " is given twice");
    }
  }
  return query;
}

std::string percent_encoded(const std::string& text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          c == '-' || c == '.' || c == '_' || c == '~';
    if (is_plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

}  // namespace memprof::cli
