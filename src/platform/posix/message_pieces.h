// SPDX-License-Identifier: Apache-2.0
// A message (platform/messages.h) as what one writev writes: "memprof: ", the parts, a newline.  What controls
// a terminal is replaced.
//
// Allocates: never.  The parts must outlive it.
#pragma once

#include <sys/uio.h>

#include <cstddef>

#include "format/printable.h"

namespace memprof::platform {

class MessagePieces {
 public:
  // `parts` ends with nullptr.  Of more than kMaxParts parts or kMaxPieces pieces the rest is left out.
  explicit MessagePieces(const char* const* parts) {
    append("memprof: ", 9);
    for (int i = 0; i < kMaxParts && parts[i] != nullptr; ++i) {
      for (const char* at = parts[i]; *at != '\0' && count_ < kMaxPieces;) {
        if (const size_t length = printable_length(at)) {
          append(at, length);
          at += length;
        } else {
          append("?", 1);
          ++at;
        }
      }
    }
    append("\n", 1);
  }

  const iovec* data() const { return pieces_; }
  int count() const { return count_; }

 private:
  static constexpr int kMaxParts = 16;
  static constexpr int kMaxPieces = 64;

  void append(const char* text, size_t length) {
    pieces_[count_].iov_base = const_cast<char*>(text);
    pieces_[count_++].iov_len = length;
  }

  iovec pieces_[kMaxPieces + 1];
  int count_ = 0;
};

}  // namespace memprof::platform
