// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit/object_file.h"

#include <cstring>

#include "platform/memory.h"

namespace memprof::jit {

// ELF's own layouts ("ELF-64 Object File Format").
struct SectionHeader {
  uint32_t name;
  uint32_t type;
  uint64_t flags;
  uint64_t address;
  uint64_t offset;
  uint64_t size_bytes;
  uint32_t link;
  uint32_t info;
  uint64_t alignment;
  uint64_t entry_bytes;
};
static_assert(sizeof(SectionHeader) == 64);

namespace {

struct FileHeader {
  uint8_t magic[4];
  uint8_t bits;
  uint8_t order;
  uint8_t rest[10];
  uint16_t type;
  uint16_t machine;
  uint32_t version;
  uint64_t entry;
  uint64_t program_headers;
  uint64_t section_headers;
  uint32_t flags;
  uint16_t header_bytes;
  uint16_t program_header_bytes;
  uint16_t program_header_count;
  uint16_t section_header_bytes;
  uint16_t section_header_count;
  uint16_t section_names;
};
static_assert(sizeof(FileHeader) == 64);

struct SymbolEntry {
  uint32_t name;
  uint8_t info;
  uint8_t other;
  uint16_t section;
  uint64_t value;
  uint64_t size_bytes;
};
static_assert(sizeof(SymbolEntry) == ObjectFile::kSymbolBytes);

constexpr uint8_t k64Bits = 2;
constexpr uint8_t kLittleEndian = 1;
constexpr uint16_t kRelocatable = 1;
constexpr uint32_t kSymbolTable = 2;
constexpr uint64_t kExecutable = 4;  // a section's flag
constexpr uint8_t kFunction = 2;
constexpr uint64_t kAddressEnd = uint64_t{1} << 56;

}  // namespace

ObjectFile::ObjectFile(uint64_t start, uint64_t size_bytes) : start_(start), size_bytes_(size_bytes) {
  FileHeader header;
  if (size_bytes < sizeof(header) || !platform::read_memory(start, &header, sizeof(header)) ||
      memcmp(header.magic, "\177ELF", 4) != 0 || header.bits != k64Bits || header.order != kLittleEndian ||
      header.section_header_bytes != sizeof(SectionHeader)) {
    return;
  }
  sections_ = header.section_headers;
  section_count_ = header.section_header_count;
  is_relocatable_ = header.type == kRelocatable;
  for (uint32_t i = 0; i < section_count_; ++i) {
    SectionHeader table;
    SectionHeader names;
    if (!section(i, &table)) {
      return;
    }
    if (table.type != kSymbolTable || table.entry_bytes != kSymbolBytes || !section(table.link, &names)) {
      continue;
    }
    const auto is_inside = [size_bytes](const SectionHeader& s) {
      return s.offset <= size_bytes && s.size_bytes <= size_bytes - s.offset &&
             s.size_bytes <= kMaxTableBytes;
    };
    if (is_inside(table) && is_inside(names)) {
      symbols_ = {start + table.offset, table.size_bytes - table.size_bytes % kSymbolBytes};
      names_ = {start + names.offset, names.size_bytes};
    }
    return;
  }
}

bool ObjectFile::section(uint64_t index, SectionHeader* header) const {
  return index < section_count_ && sections_ <= size_bytes_ &&
         (index + 1) * sizeof(*header) <= size_bytes_ - sections_ &&
         platform::read_memory(start_ + sections_ + index * sizeof(*header), header, sizeof(*header));
}

bool ObjectFile::function(const char* entry, Symbol* symbol) const {
  SymbolEntry read;
  memcpy(&read, entry, sizeof(read));
  SectionHeader in;
  if ((read.info & 0xf) != kFunction || !section(read.section, &in) || read.section == 0 ||
      (in.flags & kExecutable) == 0 || in.address == 0) {
    return false;
  }
  symbol->name = read.name;
  symbol->start = is_relocatable_ ? in.address + read.value : read.value;
  const uint64_t end = in.address + in.size_bytes;
  symbol->limit = read.size_bytes != 0 ? symbol->start + read.size_bytes : end;
  return symbol->start < symbol->limit && symbol->limit <= kAddressEnd &&
         symbol->limit - symbol->start <= UINT32_MAX;
}

}  // namespace memprof::jit
