// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/macho/macho_file.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "profile/symbolize/elf/elf_object.h"
#include "profile/symbolize/elf/elf_writer.h"
#include "profile/symbolize/files/binary_values.h"

namespace memprof::profile {
namespace {

constexpr uint32_t kMagic = 0xfeedfacf;
constexpr uint32_t kFatMagic = 0xbebafeca;  // big endian, as all of a universal file's header
constexpr uint32_t kX86 = 0x01000007;
constexpr uint32_t kArm = 0x0100000c;
constexpr size_t kHeaderBytes = 32;
constexpr size_t kSegmentBytes = 72;
constexpr size_t kSectionBytes = 80;
constexpr size_t kSymbolBytes = 16;
enum Command : uint32_t { kSymtab = 0x2, kSegment = 0x19, kUuid = 0x1b, kFunctionStarts = 0x26 };

uint32_t big_u32(std::string_view bytes, uint64_t at) {
  const uint32_t v = u32(bytes, at);
  return v >> 24 | (v >> 8 & 0xff00) | (v << 8 & 0xff0000) | v << 24;
}

// Names of segments and sections fill 16 bytes.
std::string_view name_at(std::string_view bytes, uint64_t at) {
  const std::string_view name = part(bytes, at, 16);
  return name.substr(0, std::min(name.find('\0'), name.size()));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool read() {
    const uint32_t processor = u32(bytes_, 4);
    if (u32(bytes_, 0) != kMagic || (processor != kX86 && processor != kArm)) return false;
    facts_.is_aarch64 = processor == kArm;
    uint64_t at = kHeaderBytes;
    const uint32_t count = u32(bytes_, 16);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t size = u32(bytes_, at + 4);
      const std::string_view command = part(bytes_, at, size);
      if (size < 8 || command.empty()) break;
      read_command(u32(command, 0), command);
      at += size;
    }
    read_symbols();
    return true;
  }

  std::string uuid() const { return hex_of(facts_.build_id); }
  const ObjectFacts& facts() const { return facts_; }

 private:
  void read_command(uint32_t kind, std::string_view command) {
    if (kind == kUuid) {
      facts_.build_id = part(command, 8, 16);
    } else if (kind == kSegment) {
      read_segment(command);
    } else if (kind == kSymtab) {
      symtab_ = command;
    } else if (kind == kFunctionStarts) {
      starts_ = part(bytes_, u32(command, 8), u32(command, 12));
    }
  }

  void read_segment(std::string_view command) {
    constexpr uint32_t kExecutable = 4;
    const std::string_view name = name_at(command, 8);
    const uint64_t vaddr = u64(command, 24);
    // In a file of a .dSYM code has addresses and no bytes.
    if ((u32(command, 60) & kExecutable) != 0) {
      facts_.segments.push_back({u64(command, 40), vaddr, u64(command, 32)});
    }
    if (name == "__TEXT") text_ = vaddr;
    for (uint32_t i = 0; i < u32(command, 64); ++i) {
      const uint64_t at = kSegmentBytes + uint64_t{i} * kSectionBytes;
      if (part(command, at, kSectionBytes).empty()) break;
      read_section(command, at, name == "__DWARF");
    }
  }

  void read_section(std::string_view command, uint64_t at, bool is_debug) {
    constexpr uint32_t kHasCode = 0x80000400;
    const uint64_t vaddr = u64(command, at + 32);
    const uint64_t size = u64(command, at + 40);
    ++section_count_;
    if ((u32(command, at + 64) & kHasCode) != 0 && vaddr + size >= vaddr) {
      code_of_.resize(section_count_ + 1, SIZE_MAX);
      code_of_[section_count_] = facts_.code.size();
      facts_.code.push_back({vaddr, size});
    }
    const std::string_view name = name_at(command, at);
    const std::string_view bytes = part(bytes_, u32(command, at + 48), size);
    if (is_debug && name.substr(0, 8) == "__debug_" && !bytes.empty()) {
      // What is longer than 16 bytes is cut there.
      const std::string_view plain = name == "__debug_str_offs" ? "debug_str_offsets" : name.substr(2);
      facts_.debug.push_back({"." + std::string(plain), bytes});
    }
  }

  // Functions begin there, as distances from one to the next.
  std::vector<uint64_t> function_starts() const {
    std::vector<uint64_t> starts;
    uint64_t address = text_;
    uint64_t delta = 0;
    int shift = 0;
    for (const char c : starts_) {
      const auto byte = static_cast<unsigned char>(c);
      if (shift < 64) delta |= uint64_t{byte & 127u} << shift;
      shift += 7;
      if (byte < 128) {
        if (delta == 0) break;
        address += delta;
        starts.push_back(address);
        delta = 0;
        shift = 0;
      }
    }
    return starts;
  }

  void read_symbols() {
    constexpr uint8_t kDebugging = 0xe0;
    constexpr uint8_t kTypeMask = 0x0e;
    constexpr uint8_t kInSection = 0x0e;
    constexpr uint8_t kExternal = 1;
    if (symtab_.empty()) return;
    const uint32_t count = u32(symtab_, 12);
    const std::string_view entries = part(bytes_, u32(symtab_, 8), uint64_t{count} * kSymbolBytes);
    const std::string_view names = part(bytes_, u32(symtab_, 16), u32(symtab_, 20));
    std::vector<uint64_t> begins = function_starts();
    for (uint64_t at = 0; at < entries.size(); at += kSymbolBytes) {
      const auto type = static_cast<uint8_t>(entries[at + 4]);
      const auto section = static_cast<uint8_t>(entries[at + 5]);
      if ((type & kDebugging) != 0 || (type & kTypeMask) != kInSection || section >= code_of_.size() ||
          code_of_[section] == SIZE_MAX) {
        continue;
      }
      const uint64_t name_at = u32(entries, at);
      if (name_at >= names.size()) continue;
      std::string_view name = names.substr(name_at);
      name = name.substr(0, std::min(name.find('\0'), name.size()));
      // Labels that the assembler left.
      if (name.substr(0, 4) == "ltmp" || name.substr(0, 1) == "L") continue;
      if (name.substr(0, 1) == "_") name.remove_prefix(1);  // C names have one more there
      if (name.empty()) continue;
      const uint64_t vaddr = u64(entries, at + 8);
      facts_.symbols.push_back({vaddr, 0, name, code_of_[section], (type & kExternal) == 0});
      begins.push_back(vaddr);
    }
    std::sort(begins.begin(), begins.end());
    for (ObjectFacts::Symbol& symbol : facts_.symbols) {
      const ObjectFacts::Section& section = facts_.code[symbol.section];
      const auto next = std::upper_bound(begins.begin(), begins.end(), symbol.vaddr);
      const uint64_t section_end = section.vaddr + section.size;
      const uint64_t end = next != begins.end() ? std::min(*next, section_end) : section_end;
      symbol.size = end > symbol.vaddr ? end - symbol.vaddr : 0;
    }
  }

  std::string_view bytes_;
  std::string_view symtab_;
  std::string_view starts_;
  uint64_t text_ = 0;
  size_t section_count_ = 0;     // symbols count them from 1
  std::vector<size_t> code_of_;  // of a section: its index in facts_.code; SIZE_MAX: it has none
  ObjectFacts facts_;
};

// The parts of a universal file, or the file itself.
std::vector<std::string_view> parts_of(std::string_view bytes) {
  constexpr size_t kPartBytes = 20;
  if (u32(bytes, 0) != kFatMagic) return {bytes};
  std::vector<std::string_view> parts;
  const uint32_t count = std::min<uint32_t>(big_u32(bytes, 4), 64);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = 8 + uint64_t{i} * kPartBytes;
    const std::string_view found = part(bytes, big_u32(bytes, at + 8), big_u32(bytes, at + 12));
    if (!found.empty()) parts.push_back(found);
  }
  return parts;
}

std::unique_ptr<ElfFile> find_dsym(const ElfFile& file, const NameSources& sources) {
  return sources.use_debug_files ? open_dsym(file.path(), file.build_id()) : nullptr;
}

}  // namespace

std::unique_ptr<ElfFile> read_macho(const OpenedFile& file, const std::string& build_id) {
  std::unique_ptr<ElfFile> first;
  for (const std::string_view bytes : parts_of(file.bytes())) {
    Reader reader(bytes);
    if (!reader.read() || (first != nullptr && reader.uuid() != build_id)) continue;
    OpenedFile tables;
    tables.path = file.path;
    tables.image = std::make_unique<FileImage>(write_elf(reader.facts()));
    tables.is_trusted = file.is_trusted;
    tables.changed_unix_ns = file.changed_unix_ns;
    auto elf = ElfFile::of_file(std::move(tables));
    if (reader.uuid() == build_id) return elf;
    first = std::move(elf);
  }
  return first;
}

std::unique_ptr<ElfFile> open_dsym(const std::string& path, const std::string& build_id) {
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string beside = path;
  // X itself, then the bundles that it is in: X.app/Contents/MacOS/X has X.app.dSYM.
  constexpr int kMaxFolders = 5;
  for (int i = 0; i < kMaxFolders && !beside.empty(); ++i) {
    std::string why;
    OpenedFile file;
    if (open_file(beside + ".dSYM/Contents/Resources/DWARF/" + name, &file, &why)) {
      auto elf = read_macho(file, build_id);
      if (elf != nullptr && elf->build_id() == build_id && elf->has_debug_info()) return elf;
    }
    beside.resize(beside.rfind('/') == std::string::npos ? 0 : beside.rfind('/'));
  }
  return nullptr;
}

bool is_macho(std::string_view bytes) {
  const uint32_t magic = u32(bytes, 0);
  return magic == kMagic || magic == kFatMagic;
}

std::unique_ptr<ObjectFile> open_macho(OpenedFile file, const std::string& build_id, std::string* why) {
  auto elf = read_macho(file, build_id);
  if (elf == nullptr) {
    *why = "not a file of a macOS program for x86-64 or arm64";
    return nullptr;
  }
  return std::make_unique<ElfObject>(std::move(elf), find_dsym);
}

}  // namespace memprof::profile
