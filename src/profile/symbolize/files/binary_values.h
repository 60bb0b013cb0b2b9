// SPDX-License-Identifier: Apache-2.0
// Values in binary files that nobody trusts: little endian, not aligned, and maybe outside of the file.
//
// Threads: pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memprof::profile {

// 0: it is not all inside of `bytes`.
template <typename T>
T little_endian(std::string_view bytes, uint64_t at) {
  T value = 0;
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return value;
  for (size_t i = 0; i < sizeof(T); ++i) {
    const T byte = static_cast<unsigned char>(bytes[at + i]);
    value = static_cast<T>(value | static_cast<T>(byte << (8 * i)));
  }
  return value;
}
inline uint16_t u16(std::string_view bytes, uint64_t at) {
  return little_endian<uint16_t>(bytes, at);
}
inline uint32_t u32(std::string_view bytes, uint64_t at) {
  return little_endian<uint32_t>(bytes, at);
}
inline uint64_t u64(std::string_view bytes, uint64_t at) {
  return little_endian<uint64_t>(bytes, at);
}

// Empty: it is not all inside of `bytes`.
inline std::string_view part(std::string_view bytes, uint64_t at, uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at ? bytes.substr(at, size) : std::string_view();
}

// Up to a NUL, or to the end of `bytes`; of at most `max_bytes`.
inline std::string_view text_at(std::string_view bytes, uint64_t at, size_t max_bytes = size_t{1} << 16) {
  if (at >= bytes.size()) return {};
  const std::string_view text = bytes.substr(at, max_bytes);
  return text.substr(0, std::min(text.find('\0'), text.size()));
}

// Lower case.
inline std::string hex_of(std::string_view bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

}  // namespace memprof::profile
