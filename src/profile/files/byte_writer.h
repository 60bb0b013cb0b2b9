// SPDX-License-Identifier: Apache-2.0
// Bytes of a block of data: numbers as base-128 varints (low seven bits first), doubles and texts as
// they are.
//
// Threads: one object, one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace memprof::profile {

class ByteWriter {
 public:
  void varint(uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_.push_back(static_cast<char>(number | 0x80));
    bytes_.push_back(static_cast<char>(number));
  }

  // Little-endian, as IEEE 754 has it.
  void real(double number) {
    static_assert(sizeof(double) == sizeof(uint64_t));
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    for (size_t i = 0; i < sizeof(bits); ++i) bytes_.push_back(static_cast<char>(bits >> (8 * i)));
  }

  void bytes(std::string_view text) { bytes_.append(text); }

  // Its length first.
  void text(std::string_view text) {
    varint(text.size());
    bytes(text);
  }

  // A column: without its length.
  template <typename Rows, typename NumberOf>
  void column(const Rows& rows, const NumberOf& number_of) {
    for (const auto& row : rows) varint(static_cast<uint64_t>(number_of(row)));
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace memprof::profile
