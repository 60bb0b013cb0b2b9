// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/elf_file.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "profile/symbolize/files/binary_values.h"

namespace memprof::profile {
namespace {

// Longer ones are not build ids: the model and pprof have 20 bytes in mind, the engine keeps 32.
constexpr size_t kMaxBuildIdBytes = 64;

// The build id among the notes in `data`; empty: none.
std::string build_id_of_notes(Elf_Data* data) {
  if (data == nullptr || data->d_buf == nullptr) return {};
  size_t offset = 0;
  while (offset < data->d_size) {
    GElf_Nhdr note;
    size_t name_offset = 0;
    size_t value_offset = 0;
    const size_t next = gelf_getnote(data, offset, &note, &name_offset, &value_offset);
    if (next <= offset) break;
    offset = next;
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU)) continue;
    if (note.n_descsz == 0 || note.n_descsz > kMaxBuildIdBytes) continue;
    if (name_offset + note.n_namesz > data->d_size || value_offset + note.n_descsz > data->d_size) continue;
    const auto* bytes = static_cast<const char*>(data->d_buf);
    if (std::memcmp(bytes + name_offset, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0) continue;
    return hex_of({bytes + value_offset, note.n_descsz});
  }
  return {};
}

Elf_Scn* find_section(Elf* elf, const char* wanted, GElf_Shdr* header) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    if (gelf_getshdr(section, header) == nullptr || header->sh_type != SHT_PROGBITS) continue;
    const char* name = elf_strptr(elf, names, header->sh_name);
    if (name != nullptr && std::strcmp(name, wanted) == 0) return section;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<ElfFile> ElfFile::open(const std::string& path, std::string* why) {
  OpenedFile opened;
  if (!open_file(path, &opened, why)) return nullptr;
  auto file = of_file(std::move(opened));
  if (file == nullptr) *why = kNoElf;
  return file;
}

std::unique_ptr<ElfFile> ElfFile::of_file(OpenedFile file) {
  if (file.image == nullptr || elf_version(EV_CURRENT) == EV_NONE) return nullptr;
  Elf* elf = elf_memory(file.image->data(), file.image->size());
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) == ELFCLASSNONE) {
    if (elf != nullptr) elf_end(elf);
    return nullptr;
  }
  std::unique_ptr<ElfFile> opened(new ElfFile(std::move(file), elf));
  opened->read_segments();
  opened->read_build_id();
  return opened;
}

ElfFile::ElfFile(OpenedFile file, Elf* elf) : file_(std::move(file)), elf_(elf) {}

ElfFile::~ElfFile() {
  elf_end(elf_);
}

void ElfFile::read_segments() {
  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) return;
  std::vector<Segment> others;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_LOAD || header.p_filesz == 0) continue;
    if (header.p_offset + header.p_filesz < header.p_offset) continue;
    if (header.p_vaddr + header.p_filesz < header.p_vaddr) continue;
    ((header.p_flags & PF_X) != 0 ? segments_ : others)
        .push_back({header.p_offset, header.p_filesz, header.p_vaddr});
  }
  segments_.insert(segments_.end(), others.begin(), others.end());
}

std::optional<uint64_t> ElfFile::vaddr_of_offset(uint64_t file_offset) const {
  for (const Segment& segment : segments_) {
    if (file_offset >= segment.offset && file_offset - segment.offset < segment.size) {
      return segment.vaddr + (file_offset - segment.offset);
    }
  }
  return std::nullopt;
}

void ElfFile::read_build_id() {
  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) == 0) {
    for (size_t i = 0; i < count && build_id_.empty(); ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) break;
      if (header.p_type != PT_NOTE || header.p_filesz == 0) continue;
      const Elf_Type type = header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
      build_id_ = build_id_of_notes(
          elf_getdata_rawchunk(elf_, static_cast<int64_t>(header.p_offset), header.p_filesz, type));
    }
  }
  // A separate debug file may have no contents in its segments; its notes are still sections.
  Elf_Scn* section = nullptr;
  while (build_id_.empty() && (section = elf_nextscn(elf_, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
    build_id_ = build_id_of_notes(elf_getdata(section, nullptr));
  }
}

std::string_view ElfFile::section(const char* wanted) const {
  GElf_Shdr header;
  Elf_Scn* const found = find_section(elf_, wanted, &header);
  Elf_Data* const data = found != nullptr ? elf_rawdata(found, nullptr) : nullptr;
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

std::optional<ElfFile::Place> ElfFile::place_of_section(const char* wanted) const {
  GElf_Shdr header;
  if (find_section(elf_, wanted, &header) == nullptr) return std::nullopt;
  return Place{header.sh_addr, header.sh_offset};
}

std::optional<DebugLink> ElfFile::debug_link() const {
  const char* ident = elf_getident(elf_, nullptr);
  return parse_debug_link(section(".gnu_debuglink"), ident != nullptr && ident[EI_DATA] == ELFDATA2MSB);
}

std::optional<ElfFile::AlternateLink> ElfFile::alternate_link() const {
  // The name, NUL, the build id of the other file.
  const std::string_view data = section(".gnu_debugaltlink");
  const size_t length = data.find('\0');
  if (length == std::string_view::npos || length == 0) return std::nullopt;
  const size_t id_size = data.size() - length - 1;
  if (id_size == 0 || id_size > kMaxBuildIdBytes) return std::nullopt;
  AlternateLink link;
  link.path.assign(data.substr(0, length));
  link.build_id = hex_of(data.substr(length + 1, id_size));
  return link;
}

uint32_t ElfFile::checksum() const {
  return debug_link_checksum(file_.bytes());
}

}  // namespace memprof::profile
