// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pe/pe_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "profile/symbolize/files/binary_values.h"

namespace memprof::profile {
namespace {

constexpr uint16_t kMachine = 0x8664;  // x86-64
constexpr uint16_t kOptionalMagic = 0x20b;
constexpr uint32_t kExports = 0;
constexpr uint32_t kExceptions = 3;
constexpr uint32_t kDebug = 6;
constexpr uint32_t kMaxDirectories = 16;
constexpr uint32_t kSectionHeaderBytes = 40;
constexpr uint32_t kSymbolBytes = 18;
constexpr uint32_t kFunctionBytes = 12;

// Of what is there.
uint32_t u32_at(const char* bytes) {
  return u32(std::string_view(bytes, 4), 0);
}
uint16_t u16_at(const char* bytes) {
  return u16(std::string_view(bytes, 2), 0);
}

}  // namespace

std::unique_ptr<PeFile> PeFile::of_file(OpenedFile file) {
  std::unique_ptr<PeFile> pe(new PeFile(std::move(file)));
  return pe->read() ? std::move(pe) : nullptr;
}

bool PeFile::read() {
  constexpr uint32_t kNewHeaderAt = 0x3c;
  constexpr uint32_t kFileHeaderBytes = 4 + 20;  // with its signature
  constexpr uint32_t kOptionalBytes = 112;       // before the directories
  const char* start = at_offset(0, kNewHeaderAt + 4);
  if (start == nullptr || memcmp(start, "MZ", 2) != 0) return false;
  const uint64_t headers_at = u32_at(start + kNewHeaderAt);
  const char* headers = at_offset(headers_at, kFileHeaderBytes + kOptionalBytes);
  if (headers == nullptr || memcmp(headers, "PE\0\0", 4) != 0 || u16_at(headers + 4) != kMachine)
    return false;
  const char* optional = headers + kFileHeaderBytes;
  if (u16_at(optional) != kOptionalMagic) return false;
  const uint32_t directory_count = std::min(u32_at(optional + 108), kMaxDirectories);
  if (const char* entries = at_offset(headers_at + kFileHeaderBytes + kOptionalBytes, directory_count * 8)) {
    for (uint32_t i = 0; i < directory_count; ++i) {
      directories_.push_back({u32_at(entries + i * 8), u32_at(entries + i * 8 + 4)});
    }
  }
  image_base_ = u64(std::string_view(optional, kOptionalBytes), 24);
  const uint64_t symbols_at = u32_at(headers + 12);
  const uint64_t strings_at =
      symbols_at != 0 ? symbols_at + uint64_t{u32_at(headers + 16)} * kSymbolBytes : 0;
  read_sections(headers_at + kFileHeaderBytes + u16_at(headers + 20), u16_at(headers + 6), strings_at);
  read_build_id(u32_at(headers + 8), u32_at(optional + 56));
  read_functions();
  read_symbols(u32_at(headers + 12), u32_at(headers + 16));
  read_exports();
  // Of one address: as they were read.
  for (uint32_t i = 0; i < symbols_.size(); ++i) symbols_[i].order = i;
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.address, a.order) < std::tie(b.address, b.order);
  });
  return true;
}

void PeFile::read_sections(uint64_t headers_at, uint32_t count, uint64_t strings_at) {
  constexpr uint32_t kExecutable = 0x20000000;
  for (uint32_t i = 0; i < count; ++i) {
    const char* header = at_offset(headers_at + i * kSectionHeaderBytes, kSectionHeaderBytes);
    if (header == nullptr) return;
    std::string_view name(header, strnlen(header, 8));
    // Names of more than 8 bytes stand behind the symbols: "/", and where, in decimal.
    if (strings_at != 0 && name.size() > 1 && name[0] == '/') {
      name = text_at_offset(strings_at + strtoul(std::string(name.substr(1)).c_str(), nullptr, 10));
    }
    sections_.push_back({name, u32_at(header + 12), u32_at(header + 16), u32_at(header + 20),
                         u32_at(header + 8), (u32_at(header + 36) & kExecutable) != 0});
  }
}

void PeFile::read_build_id(uint32_t time_stamp, uint32_t image_bytes) {
  constexpr uint32_t kEntryBytes = 28;
  constexpr uint32_t kCodeView = 2;
  constexpr uint32_t kGuidAndAge = 16 + 4;
  const Directory debug = directory(kDebug);
  for (uint32_t i = 0; i < debug.size / kEntryBytes; ++i) {
    const char* entry = at_address(debug.address + i * kEntryBytes, kEntryBytes);
    if (entry == nullptr) break;
    const char* view =
        u32_at(entry + 12) == kCodeView ? at_address(u32_at(entry + 20), 4 + kGuidAndAge) : nullptr;
    if (view != nullptr && memcmp(view, "RSDS", 4) == 0) {
      build_id_ = hex_of(std::string_view(view + 4, kGuidAndAge));
      pdb_path_ = text_at(u32_at(entry + 20) + 4 + kGuidAndAge);
      return;
    }
  }
  for (const uint32_t value : {time_stamp, image_bytes}) {
    for (int shift = 0; shift < 32; shift += 8) {
      const char byte = static_cast<char>(value >> shift);
      build_id_ += hex_of(std::string_view(&byte, 1));
    }
  }
}

void PeFile::read_functions() {
  const Directory table = directory(kExceptions);
  const uint32_t count = table.size / kFunctionBytes;
  const char* entries = at_address(table.address, uint64_t{count} * kFunctionBytes);
  for (uint32_t i = 0; entries != nullptr && i < count; ++i) {
    const char* entry = entries + size_t{i} * kFunctionBytes;
    functions_.push_back({u32_at(entry), u32_at(entry + 4), u32_at(entry + 8)});
  }
  std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
    return std::tie(a.begin, a.end, a.unwind) < std::tie(b.begin, b.end, b.unwind);
  });
}

// COFF: functions in sections of code.
void PeFile::read_symbols(uint32_t offset, uint32_t count) {
  constexpr uint16_t kFunctionType = 0x20;
  if (offset == 0) return;
  const uint64_t strings_at = offset + uint64_t{count} * kSymbolBytes;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t where = offset + uint64_t{i} * kSymbolBytes;
    const char* symbol = at_offset(where, kSymbolBytes);
    if (symbol == nullptr) return;
    const uint32_t section = u16_at(symbol + 12);
    if (u16_at(symbol + 14) == kFunctionType && section - 1 < sections_.size() &&
        sections_[section - 1].is_code) {
      // In place, up to 8 bytes, or in the table of strings.
      std::string_view name;
      if (u32_at(symbol) == 0) {
        name = text_at_offset(strings_at + u32_at(symbol + 4));
      } else {
        name = std::string_view(symbol, strnlen(symbol, 8));
      }
      if (!name.empty()) symbols_.push_back({sections_[section - 1].address + u32_at(symbol + 8), name});
    }
    i += static_cast<unsigned char>(symbol[17]);  // what is said of it besides
  }
}

void PeFile::read_exports() {
  constexpr uint32_t kTableBytes = 40;
  const Directory where = directory(kExports);
  const char* table = at_address(where.address, kTableBytes);
  if (where.address == 0 || table == nullptr) return;
  const uint32_t function_count = u32_at(table + 20);
  const uint32_t name_count = u32_at(table + 24);
  const char* functions = at_address(u32_at(table + 28), uint64_t{function_count} * 4);
  const char* names = at_address(u32_at(table + 32), uint64_t{name_count} * 4);
  const char* ordinals = at_address(u32_at(table + 36), uint64_t{name_count} * 2);
  if (functions == nullptr || names == nullptr || ordinals == nullptr) return;
  for (uint32_t i = 0; i < name_count; ++i) {
    const uint32_t ordinal = u16_at(ordinals + size_t{i} * 2);
    if (ordinal >= function_count) continue;
    const uint32_t address = u32_at(functions + size_t{ordinal} * 4);
    const bool is_forwarded = address - where.address < where.size;
    const std::string_view name = text_at(u32_at(names + size_t{i} * 4));
    if (!is_forwarded && !name.empty()) symbols_.push_back({address, name});
  }
}

std::optional<PeFile::Bounds> PeFile::bounds_of(uint32_t address) const {
  const Function* part = function_at(address);
  if (part == nullptr) return std::nullopt;
  return Bounds{part->begin, whole_of(part)->begin};
}

bool PeFile::find(uint32_t address, std::string* name) const {
  const auto bounds = bounds_of(address);
  if (!bounds) return false;
  const Symbol* symbol = symbol_in(bounds->part, address);
  if (symbol == nullptr) symbol = symbol_in(bounds->whole, bounds->whole);
  if (symbol == nullptr) return false;
  name->assign(symbol->name);
  return true;
}

std::vector<PeFile::Named> PeFile::named_functions() const {
  std::vector<Named> named;
  for (const Function& function : functions_) {
    const Symbol* symbol = symbol_in(function.begin, function.begin);
    if (symbol != nullptr && function.end > function.begin) {
      named.push_back({function.begin, function.end, symbol->name});
    }
  }
  return named;
}

std::string_view PeFile::bytes_of(const Section& section) const {
  const uint32_t size = section.memory_size != 0 ? std::min(section.size, section.memory_size) : section.size;
  const char* bytes = at_offset(section.offset, size);
  return bytes != nullptr ? std::string_view(bytes, size) : std::string_view();
}

const PeFile::Function* PeFile::function_at(uint32_t address) const {
  const auto above = std::upper_bound(functions_.begin(), functions_.end(), address,
                                      [](uint32_t a, const Function& f) { return a < f.begin; });
  if (above == functions_.begin()) return nullptr;
  const Function& below = *(above - 1);
  return address < below.end ? &below : nullptr;
}

// Behind the codes of a chained entry stands the one that it belongs to.
const PeFile::Function* PeFile::whole_of(const Function* part) const {
  constexpr int kMaxChain = 32;
  constexpr uint8_t kChained = 4;
  for (int depth = 0; depth < kMaxChain; ++depth) {
    const char* info = at_address(part->unwind, 4);
    if (info == nullptr || (static_cast<uint8_t>(info[0]) >> 3 & kChained) == 0) return part;
    const uint32_t codes = (static_cast<uint8_t>(info[2]) + 1u) & ~1u;
    const char* next = at_address(part->unwind + 4 + codes * 2, kFunctionBytes);
    const Function* owner = next != nullptr ? function_at(u32_at(next)) : nullptr;
    if (owner == nullptr || owner == part) return part;
    part = owner;
  }
  return part;
}

// The first of the last address in [first, last].
const PeFile::Symbol* PeFile::symbol_in(uint32_t first, uint32_t last) const {
  const auto by_address = [](const Symbol& s, uint32_t address) { return s.address < address; };
  const auto above = std::upper_bound(symbols_.begin(), symbols_.end(), last,
                                      [](uint32_t address, const Symbol& s) { return address < s.address; });
  if (above == symbols_.begin() || (above - 1)->address < first) return nullptr;
  return &*std::lower_bound(symbols_.begin(), above, (above - 1)->address, by_address);
}

PeFile::Directory PeFile::directory(uint32_t index) const {
  return index < directories_.size() ? directories_[index] : Directory{0, 0};
}

const char* PeFile::at_offset(uint64_t offset, uint64_t size) const {
  const std::string_view bytes = file_.bytes();
  return offset <= bytes.size() && size <= bytes.size() - offset ? bytes.data() + offset : nullptr;
}

const char* PeFile::at_address(uint32_t address, uint64_t size) const {
  for (const Section& section : sections_) {
    const uint64_t inside = uint64_t{address} - section.address;
    if (address >= section.address && inside <= section.size && size <= section.size - inside) {
      return at_offset(section.offset + inside, size);
    }
  }
  return nullptr;
}

std::string_view PeFile::text_at(uint32_t address) const {
  const char* text = at_address(address, 1);
  return text != nullptr ? text_at_offset(static_cast<uint64_t>(text - file_.bytes().data()))
                         : std::string_view();
}

std::string_view PeFile::text_at_offset(uint64_t offset) const {
  constexpr size_t kMaxNameBytes = 1 << 16;
  const char* text = at_offset(offset, 1);
  if (text == nullptr) return {};
  const size_t length = strnlen(text, std::min<size_t>(file_.bytes().size() - offset, kMaxNameBytes));
  return std::string_view(text, length);
}

}  // namespace memprof::profile
