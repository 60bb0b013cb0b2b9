// SPDX-License-Identifier: Apache-2.0
// Pointers in unwind tables, in their encodings (Linux Standard Base, "DWARF Exception Header Encoding").
//
// Signals, fork: pure.
// Allocates: never.
// Failure: the cursor fails on an encoding that is not known.
#pragma once

#include <cstdint>

#include "unwind/tables/bytes.h"

namespace memprof::unwind {

// Pointer encodings (DW_EH_PE_*).
enum : uint8_t {
  kFormat = 0x0f,
  kPointer = 0x00,
  kUleb = 0x01,
  kUdata2 = 0x02,
  kUdata4 = 0x03,
  kUdata8 = 0x04,
  kSleb = 0x09,
  kSdata2 = 0x0a,
  kSdata4 = 0x0b,
  kSdata8 = 0x0c,
  kRelativeTo = 0x70,
  kToPosition = 0x10,
  kToIndex = 0x30,
  kIndirect = 0x80,
  kOmitted = 0xff,
};

// Addresses that a pointer can be relative to.
struct Bases {
  uint64_t shift;  // what is added to the pointer's own address (Image::shift)
  uint64_t index;
};

inline uint64_t read_pointer(Bytes& bytes, uint8_t encoding, const Bases& bases) {
  const uint64_t position = bytes.position() + bases.shift;
  uint64_t value = 0;
  switch (encoding & kFormat) {
    case kPointer:
    case kUdata8:
    case kSdata8:
      value = bytes.read<uint64_t>();
      break;
    case kUleb:
      value = bytes.read_uleb();
      break;
    case kUdata2:
      value = bytes.read<uint16_t>();
      break;
    case kUdata4:
      value = bytes.read<uint32_t>();
      break;
    case kSleb:
      value = static_cast<uint64_t>(bytes.read_sleb());
      break;
    case kSdata2:
      value = static_cast<uint64_t>(int64_t{bytes.read<int16_t>()});
      break;
    case kSdata4:
      value = static_cast<uint64_t>(int64_t{bytes.read<int32_t>()});
      break;
    default:
      bytes = Bytes::failed();
      return 0;
  }
  switch (encoding & kRelativeTo) {
    case 0:
      return value;
    case kToPosition:
      return value + position;
    case kToIndex:
      return value + bases.index;
    default:
      bytes = Bytes::failed();
      return 0;
  }
}

}  // namespace memprof::unwind
