// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/baseline.h"

namespace memprof::v8 {
namespace {

struct Sizes {
  uint32_t version;
  const char* digits;
};
// Read from the builds of Node 18, 20, 22, 24 and 26.
// clang-format off
constexpr Sizes kSizes[] = {
    {0x0a02,
      "010101010111213141233311011101010101011131311111112111111101010102212121311111313111313112313121"
      "212131313131313211212121212121212121212121212121212121212121212121111111110101011111114141314151"
      "412131414123332222414121212121212121211111111101222201112201222122112121212101010121111111111111"
      "111111111111111111111111111111113111212141110101010111010111314131310111110101010101010101010101"
      "010101010101"},
    {0x0b03,
      "010101010111213141233311011101010101011131311111112111111101010102212121311111313111313112313121"
      "212131313132313221212121212121212121212121212121212121212121212111111111010101111111314141314151"
      "412131414123332222414121212121212121211111111101232201112201222122112121212101010131111111111111"
      "111111111111111111111111111111113111212141110101010111010111314131310111110101010101010101010101"
      "010101010101"},
    {0x0c04,
      "010101010111213141233311011101010101011131311111112111111101010102212121311131111131311131311231"
      "312141212131313132313221212121212121212121212121212121212121212121212111111111010101111111314141"
      "314151412131414123332222414121212121212121212101111111010123220111220122212211212121210101013111"
      "111111111111111111111111111111111111111111311121214111010101011101011131413131011111010101010101"
      "0101010101010101010101"},
    {0x0d06,
      "010101010111213141233311011101010101011131313111111111211111110101010221212131113111113131311131"
      "313112313121412121313131323132212121212121212121212121212121212121212121212121111111110101111111"
      "113141413141514121314141233322224141212121212121212121011111110101232201112201222122112121212101"
      "010131111111111111111111113111111111111111111111111131311121411101010101110101113141313101111101"
      "01010101010101010101010101010101"},
    {0x0e06,
      "010101010111213141233311011101010101011131313111111111211111110101010221212131113111113131311131"
      "313112313121412121313131323132212121212121212121212121212221212121212121212121212111111111010111"
      "111111314141314151412131414123332222414121131313131313212101111111010123220111220122212211212121"
      "212101010131111111111111111111113111111111111111111111111131311121411141010101011101011131413131"
      "0111020101010101010101010101010101010101"},
};
// clang-format on

// Bytecodes 0 to 3 are prefixes: wide, extra wide, and both as breakpoints have them.
constexpr uint32_t kPrefixes = 4;

uint32_t digit(const char* sizes, uint32_t at) {
  return static_cast<uint32_t>(sizes[at] - '0');
}

// Of the bytecode at the beginning of `code`; 0: there is no such bytecode.
uint32_t bytecode_bytes(const char* sizes, uint32_t kinds, const uint8_t* code, uint32_t left) {
  uint32_t scale = 1;
  uint32_t prefix = 0;
  if (code[0] < kPrefixes) {
    if (left < 2) {
      return 0;
    }
    scale = code[0] % 2 == 0 ? 2 : 4;
    prefix = 1;
  }
  const uint32_t kind = code[prefix];
  if (kind >= kinds) {
    return 0;
  }
  const uint32_t bytes = prefix + digit(sizes, 2 * kind) * scale + digit(sizes, 2 * kind + 1);
  return bytes <= left ? bytes : 0;
}

// Takes one number from `*ends`.
bool take_number(Bytes* ends, uint32_t* number) {
  constexpr uint32_t kBits = 7;
  constexpr uint32_t kMore = 1u << kBits;
  *number = 0;
  for (uint32_t shift = 0; shift < 32 && ends->size_bytes != 0; shift += kBits) {
    const uint32_t byte = *ends->data++;
    --ends->size_bytes;
    *number |= (byte & (kMore - 1)) << shift;
    if ((byte & kMore) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

const char* bytecode_sizes(uint32_t version) {
  for (const Sizes& known : kSizes) {
    if (known.version == version) {
      return known.digits;
    }
  }
  return nullptr;
}

uint32_t make_baseline_lines(const BaselineCode& code, const Bytes& ends, PositionLine* lines,
                             uint32_t max_lines) {
  uint32_t kinds = 0;
  while (code.sizes[2 * kinds] != '\0') {
    ++kinds;
  }
  Bytes left = ends;
  uint32_t machine = 0;  // where the code of the next bytecode begins
  uint32_t count = 0;
  uint32_t own = 0;
  if (!take_number(&left, &machine)) {
    return 0;
  }
  for (uint32_t at = 0; at < code.bytecode.size_bytes;) {
    const uint32_t bytes =
        bytecode_bytes(code.sizes, kinds, code.bytecode.data + at, code.bytecode.size_bytes - at);
    uint32_t step = 0;
    if (bytes == 0 || !take_number(&left, &step) || step > code.machine_bytes) {
      return 0;
    }
    for (; own < code.own_count && code.own[own].offset <= at; ++own) {
      if (count != 0 && lines[count - 1].line == code.own[own].line) {
        continue;
      }
      if (count != 0 && lines[count - 1].offset == machine) {
        --count;
      }
      if (count == max_lines) {
        return 0;
      }
      lines[count++] = {machine, code.own[own].position, code.own[own].line};
    }
    at += bytes;
    machine += step;
    if (machine > code.machine_bytes) {
      return 0;
    }
  }
  // Behind the last bytecode there may be padding of the table, and code out of line.
  return left.size_bytes < sizeof(uint64_t) && machine > code.machine_bytes / 2 ? count : 0;
}

}  // namespace memprof::v8
