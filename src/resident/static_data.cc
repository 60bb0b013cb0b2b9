// SPDX-License-Identifier: Apache-2.0
#include "resident/static_data.h"

#include <cstring>

namespace memprof::resident {
namespace {

// Of a file of 64 bits, by their places in it, so that any system can read one.
constexpr uint64_t kHeaderBytes = 64;
constexpr uint64_t kSegmentsAt = 32;      // e_phoff
constexpr uint64_t kSegmentBytesAt = 54;  // e_phentsize
constexpr uint64_t kSegmentCountAt = 56;  // e_phnum
constexpr uint64_t kSegmentBytes = 56;
constexpr uint64_t kMaxSegments = 64;
constexpr uint64_t kMaxHeadersBytes = 4096;
constexpr uint32_t kLoad = 1;  // PT_LOAD

template <typename T>
T number_at(const char* bytes, uint64_t at) {
  T number;
  std::memcpy(&number, bytes + at, sizeof(number));
  return number;
}

// Where the loaded segments end, by the first one's place; 0: its headers say nothing.
uint64_t end_of(const MemorySource& source, uint64_t file_start, const char* header) {
  const auto offset = number_at<uint64_t>(header, kSegmentsAt);
  const auto count = number_at<uint16_t>(header, kSegmentCountAt);
  if (number_at<uint16_t>(header, kSegmentBytesAt) != kSegmentBytes || count > kMaxSegments ||
      offset > kMaxHeadersBytes) {
    return 0;
  }
  uint64_t first = UINT64_MAX;  // the address in the file that is at file_start
  uint64_t end = 0;
  for (uint64_t i = 0; i < count; ++i) {
    char segment[kSegmentBytes];
    if (!source.read(source.context, file_start + offset + i * kSegmentBytes, segment, sizeof(segment))) {
      return 0;
    }
    if (number_at<uint32_t>(segment, 0) != kLoad) {
      continue;
    }
    const auto address = number_at<uint64_t>(segment, 16);
    const auto size = number_at<uint64_t>(segment, 40);
    first = source.page_of(address) < first ? source.page_of(address) : first;
    end = address + size > end ? address + size : end;
  }
  return end > first ? file_start + (end - first) : 0;
}

}  // namespace

bool is_static_data(const MemorySource& source, uint64_t file_start, uint64_t start, uint64_t limit) {
  char header[kHeaderBytes];
  if (!source.read(source.context, file_start, header, sizeof(header))) {
    return true;
  }
  if (std::memcmp(header,
                  "\x7f"
                  "ELF\x02",
                  5) != 0) {
    return false;
  }
  const uint64_t end = end_of(source, file_start, header);
  return end == 0 || (end > start && end - start >= (limit - start) / 2);
}

}  // namespace memprof::resident
