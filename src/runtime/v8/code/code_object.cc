// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/code_object.h"

#include "platform/memory.h"

namespace memprof::v8 {
namespace {

constexpr uint64_t kTag = 1;
constexpr uint64_t kTagMask = 3;

bool read_word(uint64_t address, uint64_t* word) {
  return platform::read_memory(address, word, sizeof(*word));
}

}  // namespace

bool CodeObjects::read_object(uint64_t address, uint64_t* object) {
  constexpr uint64_t kLimit = uint64_t{1} << 48;
  uint64_t word = 0;
  if (!read_word(address, &word) || (word & kTagMask) != kTag || word < 4096 || word >= kLimit) {
    return false;
  }
  *object = word - kTag;
  return *object % kWord == 0;
}

bool CodeObjects::object_at(uint64_t code_start, uint32_t place, uint64_t* object) {
  const uint64_t before = code_start - kWord * (1 + place % kWordsBefore);
  if (!read_object(before, object)) {
    return false;
  }
  const uint32_t inside = place / kWordsBefore;
  return inside == 0 || read_object(*object + kWord * inside, object);
}

// An array of bytes: its type, its length, the bytes.
bool CodeObjects::read_table(uint64_t object, uint64_t* start, uint32_t* size_bytes) {
  constexpr uint64_t kMaxBytes = 1u << 20;
  uint64_t length = 0;
  if (!read_word(object + kWord, &length)) {
    return false;
  }
  length = length << 32 == 0 ? length >> 32 : length & UINT32_MAX;
  *start = object + 2 * kWord;
  *size_bytes = static_cast<uint32_t>(length);
  return length > 1 && length < kMaxBytes;
}

}  // namespace memprof::v8
