// SPDX-License-Identifier: Apache-2.0
#include "format/files/arena_name.h"

#include <cstring>

#include "format/path_pattern.h"

namespace memprof {
namespace {

constexpr std::string_view kPrefix = "memprof";

// "-123" at the beginning of the text, which it takes away.  false: there is no such number.
bool take_number(std::string_view* text, uint64_t* number) {
  if (text->empty() || text->front() != '-') {
    return false;
  }
  size_t end = 1;
  uint64_t value = 0;
  for (; end < text->size() && (*text)[end] >= '0' && (*text)[end] <= '9'; ++end) {
    if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
        __builtin_add_overflow(value, uint64_t((*text)[end] - '0'), &value)) {
      return false;
    }
  }
  if (end == 1) {
    return false;
  }
  *number = value;
  text->remove_prefix(end);
  return true;
}

}  // namespace

void write_arena_name(const ArenaName& name, char* to) {
  const auto append = [&to](const char* text, size_t length) {
    memcpy(to, text, length);
    to += length;
  };
  const auto append_number = [&append](uint64_t number) {
    char digits[24];
    append("-", 1);
    append(digits, format_decimal(number, digits));
  };
  append(kPrefix.data(), kPrefix.size());
  append_number(name.process_id);
  append_number(name.process_namespace);
  append_number(name.process_start);
  if (name.image != 0) {
    append_number(name.image);
  }
  append(kArenaSuffix, sizeof(kArenaSuffix));
}

bool parse_arena_name(std::string_view name, ArenaName* parsed) {
  *parsed = {};
  if (name.substr(0, kPrefix.size()) != kPrefix) {
    return false;
  }
  name.remove_prefix(kPrefix.size());
  if (!take_number(&name, &parsed->process_id) || !take_number(&name, &parsed->process_namespace)) {
    return false;
  }
  if (take_number(&name, &parsed->process_start)) {
    take_number(&name, &parsed->image);
  }
  return name == kArenaSuffix;
}

}  // namespace memprof
