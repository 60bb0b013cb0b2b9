// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/elf_facts.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "cpu/facts.h"
#include "memprof/host/linux/program/elf_symbols.h"
#include "memprof/host/program/unwind_share.h"

namespace memprof::cli {
namespace {

// Interfaces besides malloc that hand out blocks: of jemalloc, mimalloc and tcmalloc.
constexpr const char* kOwnInterface[] = {"je_malloc", "mi_malloc", "mi_heap_malloc", "mi_new",
                                         "tc_malloc", "mi_zalloc", "mi_realloc",     "je_mallocx"};
constexpr const char* kHookedInterface[] = {"mallocx",
                                            "rallocx"};  // where allocators inside modules are hooked

bool is_own_interface(const char* name) {
  const auto is_name = [name](const char* one) { return std::strcmp(name, one) == 0; };
  return std::any_of(std::begin(kOwnInterface), std::end(kOwnInterface), is_name) ||
         (!cpu::kMovesCode && std::any_of(std::begin(kHookedInterface), std::end(kHookedInterface), is_name));
}

void add_symbol(const char* name, const GElf_Sym& symbol, bool is_dynamic, ElfFacts* facts) {
  if (symbol.st_shndx == SHN_UNDEF) {
    if (is_dynamic && is_own_interface(name)) facts->own_interface.emplace_back(name);
    return;
  }
  const unsigned type = GELF_ST_TYPE(symbol.st_info);
  if (type != STT_FUNC && type != STT_GNU_IFUNC) return;
  if (std::strcmp(name, "malloc") == 0) {
    const auto kind = is_dynamic ? ElfFacts::Malloc::kExported : ElfFacts::Malloc::kHidden;
    facts->malloc = std::max(facts->malloc, kind);
  }
  facts->has_memprof |= std::strcmp(name, "memprof_start") == 0;
  if (facts->sanitizer == nullptr) facts->sanitizer = sanitizer_of_symbol(name);
}

void add_paths(const char* text, ElfFacts* facts) {
  for (const char* begin = text; *begin != '\0';) {
    const size_t length = std::strcspn(begin, ":");
    if (length != 0) facts->run_paths.emplace_back(begin, length);
    begin += length;
    if (*begin == ':') ++begin;
  }
}

void read_dynamic(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, ElfFacts* facts) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(std::min<uint64_t>(data->d_size / header.sh_entsize, 1u << 20));
  for (int i = 0; i < count; ++i) {
    GElf_Dyn entry;
    if (gelf_getdyn(data, i, &entry) == nullptr || entry.d_tag == DT_NULL) return;
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) continue;
    const char* text = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
    if (text == nullptr) continue;
    if (entry.d_tag == DT_NEEDED) {
      facts->needed.emplace_back(text);
      if (facts->sanitizer == nullptr) facts->sanitizer = sanitizer_of_library(text);
    } else {
      add_paths(text, facts);
    }
  }
}

// "GLIBC_2.34" among the versions that it asks for: the highest.
void read_versions(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, ElfFacts* facts) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr) return;
  size_t offset = 0;
  for (uint64_t i = 0; i < header.sh_info && offset < data->d_size; ++i) {
    GElf_Verneed need;
    if (gelf_getverneed(data, static_cast<int>(offset), &need) == nullptr) return;
    size_t at = offset + need.vn_aux;
    for (unsigned j = 0; j < need.vn_cnt && at < data->d_size; ++j) {
      GElf_Vernaux version;
      if (gelf_getvernaux(data, static_cast<int>(at), &version) == nullptr) return;
      const char* name = elf_strptr(elf, header.sh_link, version.vna_name);
      unsigned major = 0;
      unsigned minor = 0;
      if (name != nullptr && std::sscanf(name, "GLIBC_%u.%u", &major, &minor) == 2) {
        facts->needs_glibc = std::max(facts->needs_glibc, {major, minor});
      }
      if (version.vna_next == 0) break;
      at += version.vna_next;
    }
    if (need.vn_next == 0) return;
    offset += need.vn_next;
  }
}

bool has_unwind_segment(Elf* elf) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type == PT_GNU_EH_FRAME) return true;
  }
  return false;
}

template <typename Visit>
void each_section(Elf* elf, const Visit& visit) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr) visit(section, header);
  }
}

}  // namespace

std::vector<std::string> needed_by(const profile::ElfFile& file) {
  ElfFacts facts;
  Elf* elf = file.handle();
  each_section(elf, [&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type == SHT_DYNAMIC) read_dynamic(elf, section, header, &facts);
  });
  return facts.needed;
}

ElfFacts read_elf_facts(const profile::ElfFile& file) {
  ElfFacts facts;
  Elf* elf = file.handle();
  size_t names = 0;
  const bool has_names = elf_getshdrstrndx(elf, &names) == 0;
  each_section(elf, [&](Elf_Scn* section, const GElf_Shdr& header) {
    const char* name = has_names ? elf_strptr(elf, names, header.sh_name) : nullptr;
    facts.is_go |= name != nullptr && std::strcmp(name, ".note.go.buildid") == 0;
    facts.has_symbols |= header.sh_type == SHT_SYMTAB;
    if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) {
      each_symbol(elf, section, header, [&](const char* symbol_name, const GElf_Sym& symbol) {
        add_symbol(symbol_name, symbol, header.sh_type == SHT_DYNSYM, &facts);
      });
    }
    if (header.sh_type == SHT_DYNAMIC) read_dynamic(elf, section, header, &facts);
    if (header.sh_type == SHT_GNU_verneed) read_versions(elf, section, header, &facts);
  });
  facts.has_unwind_tables = has_unwind_segment(elf);
  facts.unwind_share = facts.has_unwind_tables ? unwind_share(file) : 0;
  std::sort(facts.own_interface.begin(), facts.own_interface.end());
  return facts;
}

}  // namespace memprof::cli
