// SPDX-License-Identifier: Apache-2.0
// Text into a buffer that may be too small, like snprintf: what does not fit is only counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

class TextSink {
 public:
  TextSink(char* text, size_t size_bytes) : text_(text), size_bytes_(size_bytes) {}

  void add(const char* part) {
    for (; *part != '\0'; ++part) {
      add(*part);
    }
  }

  void add(uint64_t number) {
    char digits[20];
    size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count > 0) {
      add(digits[--count]);
    }
  }

  // Ends the text; its whole length, fitting or not.
  size_t finish() {
    if (size_bytes_ > 0) {
      text_[length_ < size_bytes_ ? length_ : size_bytes_ - 1] = '\0';
    }
    return length_;
  }

 private:
  void add(char c) {
    if (length_ + 1 < size_bytes_) {
      text_[length_] = c;
    }
    ++length_;
  }

  char* const text_;
  const size_t size_bytes_;
  size_t length_ = 0;
};

}  // namespace memprof::platform
