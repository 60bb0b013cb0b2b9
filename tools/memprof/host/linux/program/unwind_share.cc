// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/unwind_share.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "memprof/host/program/code_bytes.h"

namespace memprof::cli {
namespace {

// How pointers are written (DW_EH_PE_*), the low four bits: what compilers use for code.
constexpr uint8_t kFormatMask = 0x0f;
constexpr uint8_t kUdata4 = 0x03;
constexpr uint8_t kSdata4 = 0x0b;
constexpr uint8_t kAbsolute8[] = {0x00, 0x04, 0x0c};
constexpr uint8_t kBaseMask = 0x70;
constexpr uint8_t kPcRelative = 0x10;

// The start code that gcc and libc put into each program (crtbegin.o, crti.o) has no rules, and is in no
// stack of an allocation.
constexpr uint64_t kStartCodeBytes = 200;
// Functions begin at multiples of this, and what lies between is never executed.
constexpr uint64_t kMaxPaddingBytes = 15;

struct Section {
  uint64_t vaddr = 0;
  std::string_view bytes;
};

// In .eh_frame's bytes; none past its end.
template <typename T>
std::optional<T> read(std::string_view bytes, size_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::optional<Section> find_section(const profile::ElfFile& file, const char* wanted) {
  Elf* elf = file.handle();
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return std::nullopt;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || std::strcmp(name, wanted) != 0) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return std::nullopt;
    return Section{header.sh_addr, {static_cast<const char*>(data->d_buf), data->d_size}};
  }
  return std::nullopt;
}

void skip_leb128(std::string_view bytes, size_t* at) {
  while (*at < bytes.size() && (static_cast<uint8_t>(bytes[*at]) & 0x80) != 0) ++*at;
  ++*at;
}

// The encoding of addresses that the CIE at `at` (behind its length) asks for.
std::optional<uint8_t> encoding_of(std::string_view bytes, size_t at) {
  at += 4;  // its id
  const auto version = read<uint8_t>(bytes, at++);
  const size_t end = bytes.find('\0', at);
  if (!version || *version != 1 || end == std::string_view::npos) return std::nullopt;
  const std::string_view augmentation = bytes.substr(at, end - at);
  if (augmentation.empty()) return uint8_t{0};
  if (augmentation[0] != 'z') return std::nullopt;
  at = end + 1;
  for (int i = 0; i < 2; ++i) skip_leb128(bytes, &at);  // alignment of code and of data
  ++at;                                                 // register of the return address
  skip_leb128(bytes, &at);                              // length of what follows
  for (const char letter : augmentation.substr(1)) {
    const auto value = read<uint8_t>(bytes, at);
    if (!value) return std::nullopt;
    if (letter == 'R') return value;
    if (letter == 'L') {
      ++at;
    } else if (letter == 'P') {
      const uint8_t format = *value & kFormatMask;
      const bool is_4_bytes = format == kUdata4 || format == kSdata4;
      at += 1 + (is_4_bytes ? 4 : 8);
    } else if (letter != 'S' && letter != 'B') {
      return std::nullopt;
    }
  }
  return uint8_t{0};
}

struct Range {
  uint64_t begin = 0;
  uint64_t size = 0;
};

std::optional<Range> range_at(const Section& frames, size_t at, uint8_t encoding) {
  const uint8_t format = encoding & kFormatMask;
  Range range;
  if (format == kUdata4 || format == kSdata4) {
    const auto begin = read<int32_t>(frames.bytes, at);
    const auto size = read<uint32_t>(frames.bytes, at + 4);
    if (!begin || !size) return std::nullopt;
    range = {static_cast<uint64_t>(int64_t{*begin}), *size};
    if (format == kUdata4) range.begin = static_cast<uint32_t>(*begin);
  } else if (std::find(std::begin(kAbsolute8), std::end(kAbsolute8), format) != std::end(kAbsolute8)) {
    const auto begin = read<uint64_t>(frames.bytes, at);
    const auto size = read<uint64_t>(frames.bytes, at + 8);
    if (!begin || !size) return std::nullopt;
    range = {*begin, *size};
  } else {
    return std::nullopt;
  }
  const uint8_t base = encoding & kBaseMask;
  if (base == kPcRelative) {
    range.begin += frames.vaddr + at;
  } else if (base != 0) {
    return std::nullopt;
  }
  return range;
}

// All that .eh_frame describes; nothing where that cannot be told.
std::optional<std::vector<Range>> ranges_of(const Section& frames) {
  std::vector<Range> ranges;
  std::map<size_t, std::optional<uint8_t>> encodings;  // by the place of the CIE
  for (size_t at = 0; const auto length = read<uint32_t>(frames.bytes, at);) {
    if (*length == 0) break;
    const size_t body = at + 4;
    const auto id = read<uint32_t>(frames.bytes, body);
    // 64-bit tables (0xffffffff) are too long, too: nobody makes them.
    if (!id || *length > frames.bytes.size() - body) return std::nullopt;
    at = body + *length;
    if (*id == 0) continue;
    if (*id > body) return std::nullopt;
    const size_t cie = body - *id + 4;
    const auto known = encodings.try_emplace(cie, std::nullopt);
    if (known.second) known.first->second = encoding_of(frames.bytes, cie);
    if (!known.first->second) return std::nullopt;
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): looked at above
    const auto range = range_at(frames, body + 4, *known.first->second);
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

struct Gaps {
  uint64_t code_bytes = 0;  // without rules
  uint64_t fill_bytes = 0;  // of the linker: no code
};

// What no range has.
Gaps gaps_between(std::vector<Range> ranges, const Section& text) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  Gaps gaps;
  uint64_t begin = text.vaddr;
  const uint64_t end = text.vaddr + text.bytes.size();
  const auto add_gap = [&](uint64_t size) {
    const uint64_t code = code_bytes(text.bytes.substr(begin - text.vaddr, size));
    gaps.fill_bytes += size - code;
    gaps.code_bytes += code - std::min(code, kMaxPaddingBytes);
  };
  for (const Range& range : ranges) {
    if (range.begin >= end) break;
    if (range.begin > begin) add_gap(range.begin - begin);
    begin = std::max(begin, range.begin + std::min(range.size, end - range.begin));
  }
  if (end > begin) add_gap(end - begin);
  return gaps;
}

}  // namespace

double unwind_share(const profile::ElfFile& file) {
  const auto text = find_section(file, ".text");
  if (!text || text->bytes.empty()) return -1;
  const auto frames = find_section(file, ".eh_frame");
  const auto ranges = frames ? ranges_of(*frames) : std::vector<Range>();
  if (!ranges) return -1;
  const Gaps gaps = gaps_between(*ranges, *text);
  const uint64_t start_code = std::min(gaps.code_bytes, kStartCodeBytes);
  const uint64_t bytes = text->bytes.size() - gaps.fill_bytes - start_code;
  if (bytes == 0) return 1;
  return 1 - static_cast<double>(gaps.code_bytes - start_code) / static_cast<double>(bytes);
}

}  // namespace memprof::cli
