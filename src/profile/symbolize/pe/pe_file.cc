// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pe/pe_file.h"

#include <algorithm>
#include <cstring>
#include <tuple>

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

// Little endian, wherever it lies.
template <typename T>
T value_at(const char* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value |
                           static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i)));
  }
  return value;
}
uint32_t u32(const char* bytes) {
  return value_at<uint32_t>(bytes);
}
uint16_t u16(const char* bytes) {
  return value_at<uint16_t>(bytes);
}

void append_hex(const char* bytes, size_t size, std::string* hex) {
  static const char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    *hex += kDigits[byte >> 4];
    *hex += kDigits[byte & 15];
  }
}

}  // namespace

std::unique_ptr<PeFile> PeFile::of_file(OpenedFile opened) {
  std::unique_ptr<PeFile> file(new PeFile(std::move(opened)));
  return file->read() ? std::move(file) : nullptr;
}

bool PeFile::read() {
  constexpr uint32_t kNewHeaderAt = 0x3c;
  constexpr uint32_t kFileHeaderBytes = 4 + 20;  // with its signature
  constexpr uint32_t kOptionalBytes = 112;       // before the directories
  const char* start = at_offset(0, kNewHeaderAt + 4);
  if (start == nullptr || memcmp(start, "MZ", 2) != 0) return false;
  const uint64_t headers_at = u32(start + kNewHeaderAt);
  const char* headers = at_offset(headers_at, kFileHeaderBytes + kOptionalBytes);
  if (headers == nullptr || memcmp(headers, "PE\0\0", 4) != 0 || u16(headers + 4) != kMachine) return false;
  const char* optional = headers + kFileHeaderBytes;
  if (u16(optional) != kOptionalMagic) return false;
  const uint32_t directory_count = std::min(u32(optional + 108), kMaxDirectories);
  if (const char* entries = at_offset(headers_at + kFileHeaderBytes + kOptionalBytes, directory_count * 8)) {
    for (uint32_t i = 0; i < directory_count; ++i) {
      directories_.push_back({u32(entries + i * 8), u32(entries + i * 8 + 4)});
    }
  }
  const uint64_t sections_at = headers_at + kFileHeaderBytes + u16(headers + 20);
  for (uint32_t i = 0; i < u16(headers + 6); ++i) {
    const char* section = at_offset(sections_at + i * kSectionHeaderBytes, kSectionHeaderBytes);
    if (section == nullptr) break;
    constexpr uint32_t kExecutable = 0x20000000;
    sections_.push_back(
        {u32(section + 12), u32(section + 16), u32(section + 20), (u32(section + 36) & kExecutable) != 0});
  }
  read_build_id(u32(headers + 8), u32(optional + 56));
  read_functions();
  read_symbols(u32(headers + 12), u32(headers + 16));
  read_exports();
  // Of one address: as they were read.
  for (uint32_t i = 0; i < symbols_.size(); ++i) symbols_[i].order = i;
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.address, a.order) < std::tie(b.address, b.order);
  });
  return true;
}

void PeFile::read_build_id(uint32_t time_stamp, uint32_t image_bytes) {
  constexpr uint32_t kEntryBytes = 28;
  constexpr uint32_t kCodeView = 2;
  constexpr uint32_t kGuidAndAge = 16 + 4;
  const Directory debug = directory(kDebug);
  for (uint32_t i = 0; i < debug.size / kEntryBytes; ++i) {
    const char* entry = at_address(debug.address + i * kEntryBytes, kEntryBytes);
    if (entry == nullptr) break;
    const char* view = u32(entry + 12) == kCodeView ? at_address(u32(entry + 20), 4 + kGuidAndAge) : nullptr;
    if (view != nullptr && memcmp(view, "RSDS", 4) == 0) {
      append_hex(view + 4, kGuidAndAge, &build_id_);
      return;
    }
  }
  for (const uint32_t value : {time_stamp, image_bytes}) {
    for (int shift = 0; shift < 32; shift += 8) {
      const char byte = static_cast<char>(value >> shift);
      append_hex(&byte, 1, &build_id_);
    }
  }
}

void PeFile::read_functions() {
  const Directory table = directory(kExceptions);
  const uint32_t count = table.size / kFunctionBytes;
  const char* entries = at_address(table.address, uint64_t{count} * kFunctionBytes);
  for (uint32_t i = 0; entries != nullptr && i < count; ++i) {
    const char* entry = entries + size_t{i} * kFunctionBytes;
    functions_.push_back({u32(entry), u32(entry + 4), u32(entry + 8)});
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
    const uint32_t section = u16(symbol + 12);
    if (u16(symbol + 14) == kFunctionType && section - 1 < sections_.size() &&
        sections_[section - 1].is_code) {
      // In place, up to 8 bytes, or in the table of strings.
      std::string_view name;
      if (u32(symbol) == 0) {
        name = text_at_offset(strings_at + u32(symbol + 4));
      } else {
        name = std::string_view(symbol, strnlen(symbol, 8));
      }
      if (!name.empty()) symbols_.push_back({sections_[section - 1].address + u32(symbol + 8), name});
    }
    i += static_cast<unsigned char>(symbol[17]);  // what is said of it besides
  }
}

void PeFile::read_exports() {
  constexpr uint32_t kTableBytes = 40;
  const Directory where = directory(kExports);
  const char* table = at_address(where.address, kTableBytes);
  if (where.address == 0 || table == nullptr) return;
  const uint32_t function_count = u32(table + 20);
  const uint32_t name_count = u32(table + 24);
  const char* functions = at_address(u32(table + 28), uint64_t{function_count} * 4);
  const char* names = at_address(u32(table + 32), uint64_t{name_count} * 4);
  const char* ordinals = at_address(u32(table + 36), uint64_t{name_count} * 2);
  if (functions == nullptr || names == nullptr || ordinals == nullptr) return;
  for (uint32_t i = 0; i < name_count; ++i) {
    const uint32_t ordinal = u16(ordinals + size_t{i} * 2);
    if (ordinal >= function_count) continue;
    const uint32_t address = u32(functions + size_t{ordinal} * 4);
    const bool is_forwarded = address - where.address < where.size;
    const std::string_view name = text_at(u32(names + size_t{i} * 4));
    if (!is_forwarded && !name.empty()) symbols_.push_back({address, name});
  }
}

// The system lays an image out as a whole.
std::optional<uint64_t> PeFile::vaddr_of_offset(uint64_t offset) const {
  return offset <= UINT32_MAX ? std::optional<uint64_t>(offset) : std::nullopt;
}

std::vector<CodeNames> PeFile::names_of(const std::vector<uint64_t>& vaddrs, const NameSources& /*sources*/,
                                        std::vector<std::string>* /*warnings*/) const {
  std::vector<CodeNames> names(vaddrs.size());
  std::string name;
  for (size_t i = 0; i < vaddrs.size(); ++i) {
    if (find(static_cast<uint32_t>(vaddrs[i]), &name)) names[i].names.push_back({name, true, "", 0});
  }
  return names;
}

bool PeFile::find(uint32_t address, std::string* name) const {
  const Function* part = function_at(address);
  if (part == nullptr) return false;
  const Symbol* symbol = symbol_in(part->begin, address);
  if (symbol == nullptr) {
    const Function* whole = whole_of(part);
    symbol = symbol_in(whole->begin, whole->begin);
  }
  if (symbol == nullptr) return false;
  name->assign(symbol->name);
  return true;
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
    const Function* owner = next != nullptr ? function_at(u32(next)) : nullptr;
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

bool is_pe(std::string_view bytes) {
  return bytes.substr(0, 2) == "MZ";
}

// Who has no build id of it is not of Windows: a profile of wine itself has offsets in the file, not in the image.
std::unique_ptr<ObjectFile> open_pe(OpenedFile file, const std::string& build_id, std::string* why) {
  auto pe = PeFile::of_file(std::move(file));
  if (pe == nullptr) {
    *why = "not a file of a Windows program for x86-64";
    return nullptr;
  }
  if (build_id.empty()) {
    *why = "a file of a Windows program, of which the profile has no build id";
    return nullptr;
  }
  return pe;
}

}  // namespace memprof::profile
