// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/module_lines.h"

#include <algorithm>

#include "profile/symbolize/files/binary_values.h"

namespace memprof::profile {
namespace {

enum Subsection : uint32_t { kLines = 0xf2, kFiles = 0xf4, kInlinees = 0xf6 };

constexpr size_t kSubsectionHeaderBytes = 8;
constexpr size_t kLinesHeaderBytes = 12;
constexpr size_t kBlockHeaderBytes = 12;
constexpr size_t kLineBytes = 8;
// Code that no debugger shall stop in, or step into.
constexpr uint32_t kHiddenLine = 0xfeefee;
constexpr uint32_t kNeverStepInto = 0xf00f00;

struct PlaceSpan {  // of places
  size_t first;
  size_t last;
};

// The lines of one file in a subsection, for the places of it.
void read_block(std::string_view entries, uint32_t begin, uint32_t file, const PlaceSpan& span,
                const std::vector<CodePlace>& places, const std::vector<bool>& is_known,
                std::vector<uint32_t>* offsets, std::vector<PdbLine>* lines) {
  size_t i = span.first;
  for (size_t at = 0; at < entries.size() && i < span.last; at += kLineBytes) {
    const uint32_t offset = u32(entries, at);
    // Up to the next entry, whichever block has that: the last one at or before a place is the place's.
    const bool is_last = at + kLineBytes >= entries.size();
    const uint32_t next = is_last ? UINT32_MAX : u32(entries, at + kLineBytes);
    while (i < span.last && places[i].offset - begin < offset) ++i;
    for (; i < span.last && (is_last || places[i].offset - begin < next); ++i) {
      if (is_known[i] || offset < (*offsets)[i]) continue;
      (*offsets)[i] = offset;
      const uint32_t line = u32(entries, at + 4) & 0xffffff;
      (*lines)[i] = {file, line == kHiddenLine || line == kNeverStepInto ? 0 : int64_t{line}};
    }
  }
}

}  // namespace

ModuleLines::ModuleLines(std::string_view subsections) {
  for (uint64_t at = 0; at + kSubsectionHeaderBytes <= subsections.size();) {
    const uint32_t size = u32(subsections, at + 4);
    const std::string_view data = part(subsections, at + kSubsectionHeaderBytes, size);
    switch (u32(subsections, at)) {
      case kLines:
        lines_.push_back(data);
        break;
      case kInlinees:
        inlinees_.push_back(data);
        break;
      case kFiles:
        files_ = data;
        break;
      default:
        break;
    }
    at += kSubsectionHeaderBytes + ((uint64_t{size} + 3) & ~uint64_t{3});
  }
}

std::vector<PdbLine> ModuleLines::lines_of(const std::vector<CodePlace>& places) const {
  constexpr uint16_t kHasColumns = 1;
  std::vector<PdbLine> lines(places.size());
  std::vector<bool> is_known(places.size());
  std::vector<uint32_t> offsets(places.size());
  for (const std::string_view data : lines_) {
    const CodePlace begin{u16(data, 4), u32(data, 0)};
    const uint32_t size = u32(data, 8);
    const auto first = std::lower_bound(places.begin(), places.end(), begin);
    auto last = first;
    while (last != places.end() && last->section == begin.section && last->offset - begin.offset < size)
      ++last;
    const PlaceSpan span{static_cast<size_t>(first - places.begin()),
                         static_cast<size_t>(last - places.begin())};
    if (span.first == span.last) continue;
    for (uint64_t at = kLinesHeaderBytes; at + kBlockHeaderBytes <= data.size();) {
      const uint64_t count = u32(data, at + 4);
      const uint64_t block_bytes = u32(data, at + 8);
      const std::string_view entries = part(data, at + kBlockHeaderBytes, count * kLineBytes);
      read_block(entries, begin.offset, file_of(u32(data, at)), span, places, is_known, &offsets, &lines);
      const uint64_t min_bytes =
          kBlockHeaderBytes + count * kLineBytes + ((u16(data, 6) & kHasColumns) != 0 ? count * 4 : 0);
      at += std::max(block_bytes, min_bytes);
    }
    // Of code that the linker folded into one, the lines of the first.
    for (size_t i = span.first; i < span.last; ++i) is_known[i] = lines[i].file != PdbLine::kNoFile;
  }
  return lines;
}

void ModuleLines::find_inlinees(std::unordered_map<uint32_t, PdbLine>* inlinees) const {
  constexpr uint32_t kHasMoreFiles = 1;
  constexpr size_t kEntryBytes = 12;
  for (const std::string_view data : inlinees_) {
    const bool has_more = u32(data, 0) == kHasMoreFiles;
    for (uint64_t at = 4; at + kEntryBytes <= data.size();) {
      const auto found = inlinees->find(u32(data, at));
      if (found != inlinees->end()) found->second = {u32(data, at + 4), u32(data, at + 8)};
      at += kEntryBytes;
      if (has_more) at += 4 + uint64_t{u32(data, at)} * 4;
    }
  }
}

uint32_t ModuleLines::file_of(uint32_t offset) const {
  constexpr size_t kEntryBytes = 6;  // without its checksum
  return part(files_, offset, kEntryBytes).empty() ? PdbLine::kNoFile : u32(files_, offset);
}

}  // namespace memprof::profile
