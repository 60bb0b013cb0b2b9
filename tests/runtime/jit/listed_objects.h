// SPDX-License-Identifier: Apache-2.0
// What a JIT gives debuggers: object files in memory, and a list of them.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace memprof::jit_fixture {

struct Made {
  std::string name;
  uint64_t offset;  // in the section of code
  uint64_t size_bytes;
  uint8_t type = STT_FUNC;
};

// A relocatable file, whose code was put at `code`.
inline std::string make_object(uint64_t code, const std::vector<Made>& functions,
                               uint64_t code_bytes = 4096) {
  std::string names(1, '\0');
  std::vector<Elf64_Sym> symbols(1);
  for (const Made& f : functions) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(names.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, f.type);
    symbol.st_shndx = 1;
    symbol.st_value = f.offset;
    symbol.st_size = f.size_bytes;
    symbols.push_back(symbol);
    names += f.name + '\0';
  }
  Elf64_Shdr sections[4] = {};
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  sections[1].sh_addr = code;
  sections[1].sh_size = code_bytes;
  sections[2].sh_type = SHT_SYMTAB;
  sections[2].sh_offset = sizeof(Elf64_Ehdr) + sizeof(sections);
  sections[2].sh_size = symbols.size() * sizeof(Elf64_Sym);
  sections[2].sh_entsize = sizeof(Elf64_Sym);
  sections[2].sh_link = 3;
  sections[3].sh_type = SHT_STRTAB;
  sections[3].sh_offset = sections[2].sh_offset + sections[2].sh_size;
  sections[3].sh_size = names.size();
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_REL;
  header.e_shoff = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  const auto bytes = [](const auto* from, size_t count) {
    return std::string(reinterpret_cast<const char*>(from), count * sizeof(*from));
  };
  return bytes(&header, 1) + bytes(sections, 4) + bytes(symbols.data(), symbols.size()) + names;
}

// GDB's manual, "JIT Compilation Interface".
struct Entry {
  Entry* next;
  Entry* previous;
  const char* file;
  uint64_t size_bytes;
};
struct Descriptor {
  uint32_t version = 1;
  uint32_t action = 0;
  Entry* changed = nullptr;
  Entry* first = nullptr;
};

class Listing {
 public:
  uint64_t descriptor() const { return reinterpret_cast<uint64_t>(&descriptor_); }
  Descriptor& raw() { return descriptor_; }

  Entry* add(std::string object) {
    objects_.push_back(std::move(object));
    Entry* const e = new Entry{descriptor_.first, nullptr, objects_.back().data(), objects_.back().size()};
    if (e->next != nullptr) {
      e->next->previous = e;
    }
    descriptor_.first = descriptor_.changed = e;
    descriptor_.action = 1;
    return e;
  }
  void remove(Entry* e) {
    (e->previous != nullptr ? e->previous->next : descriptor_.first) = e->next;
    if (e->next != nullptr) {
      e->next->previous = e->previous;
    }
    descriptor_.changed = e;
    descriptor_.action = 2;
    removed_.push_back(e);
  }
  ~Listing() {
    for (Entry* e = descriptor_.first; e != nullptr;) {
      Entry* const next = e->next;
      delete e;
      e = next;
    }
    for (Entry* e : removed_) {
      delete e;
    }
  }

 private:
  Descriptor descriptor_;
  std::deque<std::string> objects_;
  std::vector<Entry*> removed_;
};

}  // namespace memprof::jit_fixture
