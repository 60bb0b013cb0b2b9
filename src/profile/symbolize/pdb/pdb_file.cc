// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/pdb_file.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "profile/symbolize/files/binary_values.h"
#include "profile/symbolize/pdb/line_programs.h"
#include "profile/symbolize/pdb/module_lines.h"
#include "profile/symbolize/pdb/type_records.h"

namespace memprof::profile {
namespace {

constexpr uint32_t kInfoStream = 1;
constexpr uint32_t kDebugStream = 3;  // DBI
constexpr uint32_t kDebugHeaderBytes = 64;
constexpr uint32_t kGuidBytes = 16;
constexpr uint32_t kNoStream = 0xffff;
constexpr uint32_t kNoModule = UINT32_MAX;

}  // namespace

std::unique_ptr<PdbFile> PdbFile::of_file(OpenedFile file, std::string* why) {
  std::unique_ptr<PdbFile> pdb(new PdbFile(std::move(file)));
  return pdb->read(why) ? std::move(pdb) : nullptr;
}

PdbFile::~PdbFile() = default;

bool PdbFile::read(std::string* why) {
  msf_ = MsfFile::of_bytes(file_.bytes(), why);
  if (msf_ == nullptr) return false;
  std::string info_buffer;
  const std::string_view info = msf_->stream(kInfoStream).bytes(&info_buffer);
  debug_ = msf_->stream(kDebugStream);
  std::string buffer;
  const std::string header(debug_.bytes(0, kDebugHeaderBytes, &buffer));
  constexpr uint32_t kGuidAt = 12;
  const std::string_view guid = part(info, kGuidAt, kGuidBytes);
  if (guid.empty() || header.empty()) {
    *why = "a damaged PDB: it says nothing of its image";
    return false;
  }
  build_id_ = hex_of(guid) + hex_of(std::string_view(header).substr(8, 4));
  read_named_streams(info);
  public_stream_ = u16(header, 16);
  symbol_stream_ = u16(header, 20);
  // One behind the other.
  const uint32_t module_bytes = u32(header, 24);
  contributions_at_ = uint64_t{kDebugHeaderBytes} + module_bytes;
  contributions_bytes_ = u32(header, 28);
  const uint64_t streams_at = contributions_at_ + contributions_bytes_ + u32(header, 32) + u32(header, 36) +
                              u32(header, 40) + u32(header, 52);
  read_modules(debug_.bytes(kDebugHeaderBytes, module_bytes, &buffer));
  read_sections(debug_.bytes(streams_at, u32(header, 48), &buffer));
  return true;
}

// A table of hashes from names to numbers of streams; behind it, what the linker did.
void PdbFile::read_named_streams(std::string_view info) {
  constexpr uint32_t kTableAt = 28;
  constexpr uint32_t kMinimalDebugInfo = 0x494e494d;
  const std::string_view names = part(info, kTableAt + 4, u32(info, kTableAt));
  uint64_t at = kTableAt + 4 + uint64_t{u32(info, kTableAt)} + 8;  // behind the size and the capacity
  const uint32_t present_words = u32(info, at);
  const std::string_view present = part(info, at + 4, uint64_t{present_words} * 4);
  at += 4 + uint64_t{present_words} * 4;
  at += 4 + uint64_t{u32(info, at)} * 4;  // deleted ones
  for (size_t bit = 0; bit < present.size() * 8; ++bit) {
    if ((static_cast<unsigned char>(present[bit / 8]) >> (bit % 8) & 1) == 0) continue;
    if (text_at(names, u32(info, at)) == "/names") names_ = msf_->stream(u32(info, at + 4));
    at += 8;
  }
  for (; at + 4 <= info.size(); at += 4) {
    if (u32(info, at) == kMinimalDebugInfo)
      refusal_ = "was made with /DEBUG:FASTLINK, its debug info is in object files";
  }
}

void PdbFile::read_modules(std::string_view modules) {
  constexpr uint32_t kEntryBytes = 64;  // before its names
  for (uint64_t at = 0; at + kEntryBytes <= modules.size();) {
    modules_.push_back(
        {u16(modules, at + 34), u32(modules, at + 36), u32(modules, at + 40), u32(modules, at + 44)});
    at += kEntryBytes;
    for (int i = 0; i < 2; ++i) at += text_at(modules, at).size() + 1;
    at = (at + 3) & ~uint64_t{3};
  }
}

void PdbFile::read_sections(std::string_view debug_streams) {
  constexpr uint32_t kMaxSections = 4096;
  constexpr uint32_t kHeaderBytes = 40;
  enum Index : uint32_t { kOmapFromImage = 4, kHeaders = 5 };
  const auto stream = [&](uint32_t index) {
    return part(debug_streams, index * 2, 2).empty() ? kNoStream : u16(debug_streams, index * 2);
  };
  std::string buffer;
  const std::string_view headers = msf_->stream(stream(kHeaders)).bytes(&buffer);
  for (size_t at = 0; at + kHeaderBytes <= headers.size() && sections_.size() < kMaxSections;
       at += kHeaderBytes) {
    sections_.push_back({u32(headers, at + 12), u32(headers, at + 8)});
  }
  if (refusal_.empty() && msf_->stream(stream(kOmapFromImage)).size() > 0) {
    refusal_ = "is of an image that was rearranged after it was linked (OMAP)";
  }
  if (refusal_.empty() && sections_.empty()) refusal_ = "does not say where the sections of its image are";
}

CodePlace PdbFile::place_of(uint32_t address) const {
  for (uint32_t i = 0; i < sections_.size(); ++i) {
    if (address >= sections_[i].address && address - sections_[i].address < sections_[i].size) {
      return {i + 1, address - sections_[i].address};
    }
  }
  return {};
}

// Of each part of the image, the module that it is of.
void PdbFile::find_modules(std::vector<Asked>* asked) const {
  constexpr uint32_t kVersion2 = 0xf13151e4;  // entries have 4 bytes more
  std::string buffer;
  const std::string_view parts = debug_.bytes(contributions_at_, contributions_bytes_, &buffer);
  const size_t entry_bytes = u32(parts, 0) == kVersion2 ? 32 : 28;
  for (size_t at = 4; at + entry_bytes <= parts.size(); at += entry_bytes) {
    const CodePlace begin{u16(parts, at), u32(parts, at + 4)};
    const uint32_t size = u32(parts, at + 8);
    auto one = std::lower_bound(asked->begin(), asked->end(), begin,
                                [](const Asked& a, const CodePlace& place) { return a.place < place; });
    for (; one != asked->end() && one->place.section == begin.section &&
           one->place.offset - begin.offset < size;
         ++one) {
      // Parts of an image do not lie in each other; those of a file that says so take no time.
      if (one->module != kNoModule) break;
      one->module = u16(parts, at + 16);
    }
  }
}

std::vector<CodeNames> PdbFile::names_of(const std::vector<uint32_t>& addresses, bool use_lines) const {
  std::vector<CodeNames> names(addresses.size());
  if (!refusal_.empty()) return names;
  std::vector<Asked> asked;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const CodePlace place = place_of(addresses[i]);
    if (place.section != 0) asked.push_back({place, kNoModule, i});
  }
  std::sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.place < b.place; });
  find_modules(&asked);
  std::sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) {
    return a.module != b.module ? a.module < b.module : a.place < b.place;
  });
  FunctionIds ids(*msf_);
  for (size_t first = 0; first < asked.size() && asked[first].module < modules_.size();) {
    size_t last = first;
    while (last < asked.size() && asked[last].module == asked[first].module) ++last;
    name_module(modules_[asked[first].module], &asked[first], asked.data() + last, use_lines, &ids, &names);
    first = last;
  }
  return names;
}

void PdbFile::name_module(const Module& module, const Asked* first, const Asked* last, bool use_lines,
                          FunctionIds* ids, std::vector<CodeNames>* names) const {
  if (module.stream == kNoStream) return;
  std::string buffer;
  const std::string_view bytes = msf_->stream(module.stream).bytes(&buffer);
  std::vector<CodePlace> places;
  for (const Asked* one = first; one < last; ++one) places.push_back(one->place);
  const std::vector<CodeScope> scopes = scopes_of(part(bytes, 0, module.symbol_bytes), places);
  const ModuleLines table(
      use_lines ? part(bytes, uint64_t{module.symbol_bytes} + module.other_bytes, module.line_bytes)
                : std::string_view());
  const std::vector<PdbLine> lines = table.lines_of(places);
  std::unordered_map<uint32_t, PdbLine> inlinees;
  for (const CodeScope& scope : scopes) {
    for (const InlineSite& site : scope.sites) inlinees.emplace(site.inlinee, PdbLine());
  }
  table.find_inlinees(&inlinees);
  for (size_t i = 0; i < places.size(); ++i) {
    CodeNames& result = (*names)[first[i].index];
    if (scopes[i].function.empty()) continue;
    result.has_lines = lines[i].file != PdbLine::kNoFile;
    for (size_t level = use_lines ? scopes[i].sites.size() : 0; level-- > 0;) {
      const InlineSite& site = scopes[i].sites[level];
      const PdbLine& begin = inlinees[site.inlinee];
      const std::string& name = ids->name_of(site.inlinee);
      const uint32_t file = site.file == InlineRange::kSameFile ? begin.file : site.file;
      const int64_t line = begin.file != PdbLine::kNoFile ? begin.line + site.line_delta : 0;
      if (!name.empty()) {
        result.names.push_back({name, false, file_name(table.file_of(file)), std::max<int64_t>(line, 0)});
      }
    }
    result.names.push_back({std::string(scopes[i].function), false, file_name(lines[i].file), lines[i].line});
  }
}

std::string PdbFile::file_name(uint32_t offset) const {
  constexpr uint32_t kHeaderBytes = 12;
  constexpr uint32_t kMaxNameBytes = 4096;
  const uint64_t at = uint64_t{kHeaderBytes} + offset;
  if (offset == PdbLine::kNoFile || at >= names_.size()) return {};
  std::string buffer;
  return std::string(
      text_at(names_.bytes(at, std::min<uint64_t>(kMaxNameBytes, names_.size() - at), &buffer), 0));
}

std::string PdbFile::public_in(uint32_t first, uint32_t last) const {
  constexpr uint32_t kHeaderBytes = 28;
  constexpr uint32_t kRecordBytes = 14;  // before its name
  constexpr uint32_t kMaxNameBytes = 4096;
  constexpr uint16_t kPublic = 0x110e;
  const CodePlace from = place_of(first);
  const CodePlace to = place_of(last);
  if (from.section == 0 || from.section != to.section) return {};
  const MsfStream publics = msf_->stream(public_stream_);
  const MsfStream symbols = msf_->stream(symbol_stream_);
  std::string buffer;
  const std::string header(publics.bytes(0, kHeaderBytes, &buffer));
  const uint64_t map_at = uint64_t{kHeaderBytes} + u32(header, 0);
  const uint32_t count = u32(header, 4) / 4;
  const auto offset_of = [&](uint32_t i) {
    return u32(publics.bytes(map_at + uint64_t{i} * 4, 4, &buffer), 0);
  };
  const auto place_at = [&](uint32_t i) {
    const std::string_view record = symbols.bytes(offset_of(i), kRecordBytes, &buffer);
    return u16(record, 2) == kPublic ? CodePlace{u16(record, 12), u32(record, 8)} : CodePlace{};
  };
  // Those up to `to`, by address.
  uint32_t low = 0;
  for (uint32_t high = count; low < high;) {
    const uint32_t middle = low + (high - low) / 2;
    if (to < place_at(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (low == 0 || place_at(low - 1) < from || to < place_at(low - 1)) return {};
  const uint64_t at = offset_of(low - 1);
  const uint64_t record_bytes = uint64_t{u16(symbols.bytes(at, 2, &buffer), 0)} + 2;
  const std::string_view record = symbols.bytes(at, std::min<uint64_t>(record_bytes, kMaxNameBytes), &buffer);
  return std::string(text_at(record, kRecordBytes));
}

}  // namespace memprof::profile
