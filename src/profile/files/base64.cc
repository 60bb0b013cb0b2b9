// SPDX-License-Identifier: Apache-2.0
#include "profile/files/base64.h"

#include <cstdint>

namespace memprof::profile {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += i + j > bytes.size() ? '=' : kDigits[group >> (18 - 6 * j) & 63];
    }
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  const size_t end = text.find('=');
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = i < end ? kDigits.find(text[i]) : 0;
    // One or two signs of filling, at the end.
    if (digit == std::string_view::npos || (i >= end && (text[i] != '=' || text.size() - end > 2))) {
      return std::nullopt;
    }
    group = group << 6 | static_cast<uint32_t>(digit);
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(group >> shift));
    group = 0;
  }
  if (end != std::string_view::npos) bytes.resize(bytes.size() - (text.size() - end));
  return bytes;
}

}  // namespace memprof::profile
