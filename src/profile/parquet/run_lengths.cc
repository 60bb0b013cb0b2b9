// SPDX-License-Identifier: Apache-2.0
#include "profile/parquet/run_lengths.h"

#include "profile/files/byte_writer.h"

namespace memprof::profile {
namespace {

constexpr size_t kGroup = 8;  // values that are packed together

// The last group is filled up with zeros.
void write_packed(const uint32_t* values, size_t count, unsigned width, ByteWriter* out) {
  const size_t groups = (count + kGroup - 1) / kGroup;
  out->varint(groups << 1 | 1);
  std::string packed;
  uint64_t bits = 0;
  unsigned used = 0;
  for (size_t i = 0; i < groups * kGroup; ++i) {
    bits |= uint64_t{i < count ? values[i] : 0} << used;
    for (used += width; used >= 8; used -= 8, bits >>= 8) packed.push_back(static_cast<char>(bits));
  }
  out->bytes(packed);
}

void write_run(uint32_t value, size_t count, unsigned width, ByteWriter* out) {
  out->varint(count << 1);
  for (unsigned bit = 0; bit < width; bit += 8) {
    const char byte = static_cast<char>(value >> bit);
    out->bytes({&byte, 1});
  }
}

}  // namespace

unsigned bit_width(uint32_t largest) {
  unsigned width = 1;
  while (width < 32 && largest >> width != 0) ++width;
  return width;
}

std::string run_lengths(const uint32_t* values, size_t count, unsigned width) {
  ByteWriter out;
  size_t packed = 0;  // up to here all is written
  for (size_t i = 0; i < count;) {
    size_t end = i + 1;
    while (end < count && values[end] == values[i]) ++end;
    // Groups before it are whole: a run gives them what they lack.
    const size_t begin = packed + (i - packed + kGroup - 1) / kGroup * kGroup;
    if (end >= begin + kGroup) {
      if (begin != packed) write_packed(values + packed, begin - packed, width, &out);
      write_run(values[i], end - begin, width, &out);
      packed = end;
    }
    i = end;
  }
  if (packed != count) write_packed(values + packed, count - packed, width, &out);
  return out.take();
}

}  // namespace memprof::profile
