// SPDX-License-Identifier: Apache-2.0
// The text of one comment, as it is written.
//
// Format: docs/profile-format.md, "Comments".
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "format/pprof/hex_text.h"

namespace memprof::profile {

// Text in a fixed buffer; what does not fit is left out.
class CommentText {
 public:
  // Enough for either comment (max_of_profile_comment).  Signal handlers have it on their stack.
  static constexpr size_t kCapacity = 5632;

  const char* data() const { return text_; }
  size_t size() const { return size_; }

  void literal(const char* text) {
    while (*text != '\0') {
      character(*text++);
    }
  }

  void key(const char* name) {
    character(' ');
    literal(name);
    character('=');
  }

  void decimal(const char* name, uint64_t value) {
    key(name);
    number(value);
  }

  void number(uint64_t value) {
    char digits[20];
    size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count != 0) {
      character(digits[--count]);
    }
  }

  void hex16(const char* name, uint64_t value) {
    key(name);
    hex(value, 16);
  }

  // Eight at once: most of a stack's comment is such digits.
  void hex(uint64_t value, int digits) {
    while (digits >= static_cast<int>(kHexDigits) && kCapacity - size_ >= kHexDigits) {
      digits -= static_cast<int>(kHexDigits);
      const uint64_t text = hex_text(static_cast<uint32_t>(value >> 4 * digits));
      std::memcpy(text_ + size_, &text, sizeof(text));
      size_ += kHexDigits;
    }
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
      character(hex_digit(value >> shift & 15));
    }
  }

  // The nearest 32-bit float: seven digits of it.
  void short_real(double value) {
    const auto nearest = static_cast<float>(value);
    uint32_t bits = 0;
    static_assert(sizeof(bits) == sizeof(nearest));
    std::memcpy(&bits, &nearest, sizeof(bits));
    hex(bits, 8);
  }

  void real(const char* name, double value) {
    uint64_t bits = 0;
    static_assert(sizeof(bits) == sizeof(value), "doubles travel as 64 bits");
    std::memcpy(&bits, &value, sizeof(bits));
    if (bits == 0) {  // as it often is
      key(name);
      character('0');
      return;
    }
    hex16(name, bits);
  }

  // Spaces, '%' and control characters become %XX.  What is longer than `max` characters is cut.
  void text(const char* name, std::string_view value, size_t max) {
    key(name);
    for (const char c : value.substr(0, max)) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte <= ' ' || byte == '%' || byte == 0x7f) {
        character('%');
        character(hex_digit(byte >> 4));
        character(hex_digit(byte & 15));
      } else {
        character(c);
      }
    }
  }

 private:
  static char hex_digit(uint64_t nibble) { return "0123456789abcdef"[nibble]; }

  void character(char c) {
    if (size_ < kCapacity) {
      text_[size_++] = c;
    }
  }

  char text_[kCapacity];
  size_t size_ = 0;
};

}  // namespace memprof::profile
