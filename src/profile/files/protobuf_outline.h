// SPDX-License-Identifier: Apache-2.0
// Looks at the bytes of a protobuf message (a pprof file) piece by piece, while they are unpacked, and refuses at once
// what cannot be one: what a small gzip file unpacks to may be more than memory holds.
//
// Model: only the outermost fields are looked at: their tags and lengths.
//
// Threads: one reader's own.
#pragma once

#include <cstdint>
#include <string_view>

namespace memprof::profile {

class ProtobufOutline {
 public:
  // `max_bytes`: the most that the whole message may have.
  explicit ProtobufOutline(uint64_t max_bytes) : left_bytes_(max_bytes) {}

  // The bytes that follow; false: this is no such message, whatever follows.
  bool take(std::string_view piece);

 private:
  enum class At : unsigned char { kTag, kLength, kNumber, kContent };

  bool take_byte_of_varint(unsigned char byte);
  bool end_varint();
  bool skip(uint64_t bytes);

  uint64_t left_bytes_;
  At at_ = At::kTag;
  uint64_t varint_ = 0;
  unsigned shift_ = 0;
  uint64_t content_bytes_ = 0;  // to be skipped
};

}  // namespace memprof::profile
