// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/elf_writer.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>

namespace memprof::profile {
namespace {

constexpr size_t kAlignment = 8;

class Writer {
 public:
  // Headers come last, as they say where all else is.
  Writer() : bytes_(sizeof(Elf64_Ehdr)) { add_section("", Elf64_Shdr{}); }

  size_t put(const void* from, size_t size) {
    bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment);
    const size_t at = bytes_.size();
    const auto* begin = static_cast<const char*>(from);
    bytes_.insert(bytes_.end(), begin, begin + size);
    return at;
  }

  // The index of the section.
  size_t add_section(const char* name, Elf64_Shdr header) {
    header.sh_name = static_cast<Elf64_Word>(names_.size());
    names_ += name;
    names_ += '\0';
    sections_.push_back(header);
    return sections_.size() - 1;
  }
  size_t add_bytes(const char* name, Elf64_Word type, const void* from, size_t size) {
    Elf64_Shdr header{};
    header.sh_type = type;
    header.sh_offset = put(from, size);
    header.sh_size = size;
    header.sh_addralign = 1;
    return add_section(name, header);
  }
  Elf64_Shdr& section(size_t index) { return sections_[index]; }

  std::vector<char> finish(const std::vector<Elf64_Phdr>& segments, bool is_aarch64) {
    const size_t names = add_bytes(".shstrtab", SHT_STRTAB, "", 0);
    sections_[names].sh_offset = put(names_.data(), names_.size());
    sections_[names].sh_size = names_.size();
    Elf64_Ehdr header{};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = is_aarch64 ? EM_AARCH64 : EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<Elf64_Half>(segments.size());
    header.e_phoff = put(segments.data(), segments.size() * sizeof(Elf64_Phdr));
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections_.size());
    header.e_shstrndx = static_cast<Elf64_Half>(names);
    header.e_shoff = put(sections_.data(), sections_.size() * sizeof(Elf64_Shdr));
    memcpy(bytes_.data(), &header, sizeof(header));
    return std::move(bytes_);
  }

 private:
  std::vector<char> bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::string names_;
};

std::string note_of(const std::string& build_id) {
  Elf64_Nhdr header{};
  header.n_namesz = sizeof(ELF_NOTE_GNU);
  header.n_descsz = static_cast<Elf64_Word>(build_id.size());
  header.n_type = NT_GNU_BUILD_ID;
  std::string note(reinterpret_cast<const char*>(&header), sizeof(header));
  note.append(ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU));
  return note + build_id;
}

void write_symbols(const ObjectFacts& facts, const std::vector<size_t>& code, Writer* writer) {
  std::string names(1, '\0');
  std::vector<Elf64_Sym> symbols(1);
  for (const bool is_local : {true, false}) {  // in this order in ELF
    for (const ObjectFacts::Symbol& symbol : facts.symbols) {
      if (symbol.is_local != is_local || symbol.section >= code.size()) continue;
      Elf64_Sym entry{};
      entry.st_name = static_cast<Elf64_Word>(names.size());
      entry.st_info = static_cast<unsigned char>(ELF64_ST_INFO(is_local ? STB_LOCAL : STB_GLOBAL, STT_FUNC));
      entry.st_shndx = static_cast<Elf64_Half>(code[symbol.section]);
      entry.st_value = symbol.vaddr;
      entry.st_size = symbol.size;
      symbols.push_back(entry);
      names.append(symbol.name);
      names += '\0';
    }
  }
  const size_t strings = writer->add_bytes(".strtab", SHT_STRTAB, names.data(), names.size());
  const size_t table =
      writer->add_bytes(".symtab", SHT_SYMTAB, symbols.data(), symbols.size() * sizeof(Elf64_Sym));
  writer->section(table).sh_link = static_cast<Elf64_Word>(strings);
  writer->section(table).sh_entsize = sizeof(Elf64_Sym);
  writer->section(table).sh_addralign = kAlignment;
}

}  // namespace

std::vector<char> write_elf(const ObjectFacts& facts) {
  constexpr size_t kMaxSections = 1024;
  Writer writer;
  std::vector<Elf64_Phdr> segments;
  for (const ObjectFacts::Segment& segment : facts.segments) {
    Elf64_Phdr header{};
    header.p_type = PT_LOAD;
    header.p_flags = PF_R | PF_X;
    header.p_offset = segment.file_offset;
    header.p_vaddr = header.p_paddr = segment.vaddr;
    header.p_filesz = header.p_memsz = segment.size;
    if (segments.size() < kMaxSections) segments.push_back(header);
  }
  if (!facts.build_id.empty()) {
    const std::string note = note_of(facts.build_id);
    const size_t section = writer.add_bytes(".note.gnu.build-id", SHT_NOTE, note.data(), note.size());
    writer.section(section).sh_addralign = 4;
  }
  std::vector<size_t> code;
  for (const ObjectFacts::Section& section : facts.code) {
    if (code.size() == kMaxSections) break;
    Elf64_Shdr header{};
    header.sh_type = SHT_NOBITS;
    header.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    header.sh_addr = section.vaddr;
    header.sh_size = section.size;
    header.sh_addralign = 1;
    code.push_back(writer.add_section(".text", header));
  }
  if (!facts.symbols.empty()) write_symbols(facts, code, &writer);
  for (size_t i = 0; i < std::min(facts.debug.size(), kMaxSections); ++i) {
    const ObjectFacts::DebugSection& section = facts.debug[i];
    writer.add_bytes(section.name.c_str(), SHT_PROGBITS, section.bytes.data(), section.bytes.size());
  }
  return writer.finish(segments, facts.is_aarch64);
}

}  // namespace memprof::profile
