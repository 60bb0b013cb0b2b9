// SPDX-License-Identifier: Apache-2.0
#include "profile/files/protobuf_outline.h"

#include <algorithm>

namespace memprof::profile {
namespace {

// What follows a tag, by its three lowest bits.
constexpr uint64_t kWireVarint = 0;
constexpr uint64_t kWire64Bits = 1;
constexpr uint64_t kWireBytes = 2;
constexpr uint64_t kWire32Bits = 5;
constexpr unsigned kWireBits = 3;

}  // namespace

bool ProtobufOutline::take(std::string_view piece) {
  if (piece.size() > left_bytes_) return false;
  left_bytes_ -= piece.size();
  while (!piece.empty()) {
    if (at_ != At::kContent) {
      const auto byte = static_cast<unsigned char>(piece.front());
      piece.remove_prefix(1);
      if (!take_byte_of_varint(byte)) return false;
      continue;
    }
    // Content cannot be more than is left of the message.
    if (content_bytes_ > left_bytes_ + piece.size()) return false;
    const uint64_t skipped = std::min<uint64_t>(content_bytes_, piece.size());
    piece.remove_prefix(skipped);
    content_bytes_ -= skipped;
    if (content_bytes_ == 0) at_ = At::kTag;
  }
  return true;
}

bool ProtobufOutline::take_byte_of_varint(unsigned char byte) {
  constexpr unsigned kBitsOfByte = 7;
  constexpr unsigned kMaxBits = 70;  // of ten bytes
  varint_ |= uint64_t{byte & 0x7fU} << std::min(shift_, 63U);
  shift_ += kBitsOfByte;
  if (byte < 0x80) return end_varint();
  return shift_ < kMaxBits;
}

bool ProtobufOutline::end_varint() {
  const uint64_t number = varint_;
  varint_ = 0;
  shift_ = 0;
  switch (at_) {
    case At::kNumber:
      at_ = At::kTag;
      return true;
    case At::kLength:
      return skip(number);
    default:
      break;
  }
  if (number >> kWireBits == 0) return false;
  switch (number & ((1U << kWireBits) - 1)) {
    case kWireVarint:
      at_ = At::kNumber;
      return true;
    case kWireBytes:
      at_ = At::kLength;
      return true;
    case kWire64Bits:
      return skip(8);
    case kWire32Bits:
      return skip(4);
    default:
      return false;
  }
}

bool ProtobufOutline::skip(uint64_t bytes) {
  content_bytes_ = bytes;
  at_ = bytes == 0 ? At::kTag : At::kContent;
  return true;
}

}  // namespace memprof::profile
