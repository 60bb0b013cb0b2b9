// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/source_maps/mappings.h"

#include <array>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 64;
constexpr int kBits = 5;
constexpr uint64_t kMore = 1 << kBits;  // another digit follows
constexpr int kMaxBits = 35;
constexpr size_t kFields = 5;

std::array<uint8_t, 256> digit_values() {
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (uint8_t i = 0; i < kNoDigit; ++i) values[static_cast<uint8_t>(kDigits[i])] = i;
  return values;
}

[[noreturn]] void refuse() {
  throw Error("its mappings are damaged");
}

// Takes a number off the text.
int64_t take_number(std::string_view* text) {
  static const std::array<uint8_t, 256> kValues = digit_values();
  uint64_t bits = 0;
  for (int shift = 0; shift < kMaxBits; shift += kBits) {
    if (text->empty()) refuse();
    const uint64_t digit = kValues[static_cast<uint8_t>(text->front())];
    if (digit == kNoDigit) refuse();
    text->remove_prefix(1);
    bits |= (digit & (kMore - 1)) << shift;
    if ((digit & kMore) != 0) continue;
    const auto size = static_cast<int64_t>(bits >> 1);  // the lowest bit is the sign
    return (bits & 1) != 0 ? -size : size;
  }
  refuse();
}

uint32_t moved(uint32_t from, int64_t by) {
  const int64_t to = int64_t{from} + by;
  if (to < 0 || to > UINT32_MAX) refuse();
  return static_cast<uint32_t>(to);
}

}  // namespace

void decode_mappings(std::string_view text, const std::function<void(const MappedPlace&)>& visit) {
  MappedPlace place;
  while (!text.empty()) {
    if (text.front() == ';') {
      place.line = moved(place.line, 1);
      place.column = 0;
      text.remove_prefix(1);
      continue;
    }
    if (text.front() == ',') {
      text.remove_prefix(1);
      continue;
    }
    std::array<int64_t, kFields> by{};
    size_t count = 0;
    while (!text.empty() && text.front() != ',' && text.front() != ';') {
      if (count == kFields) refuse();
      by[count++] = take_number(&text);
    }
    if (count != 1 && count != 4 && count != kFields) refuse();
    place.column = moved(place.column, by[0]);
    place.has_source = count > 1;
    place.has_name = count == kFields;
    place.source = moved(place.source, by[1]);
    place.source_line = moved(place.source_line, by[2]);
    place.source_column = moved(place.source_column, by[3]);
    place.name = moved(place.name, by[4]);
    visit(place);
  }
}

}  // namespace memprof::profile
