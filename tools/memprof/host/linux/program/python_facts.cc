// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/python_facts.h"

#include <gelf.h>
#include <libelf.h>

#include <cstring>

#include "memprof/host/linux/program/elf_symbols.h"

namespace memprof::cli {
namespace {

// _Py_DebugOffsets begins with a cookie, the version, and whether there is no GIL.
struct OffsetsBeginning {
  char cookie[8];
  uint64_t version;
  uint64_t is_free_threaded;
};
constexpr char kCookie[] = "xdebugpy";

void add_symbol(Elf* elf, const char* name, const GElf_Sym& symbol, PythonFacts* facts,
                OffsetsBeginning* offsets) {
  if (std::strcmp(name, "PyMem_SetAllocator") == 0) {
    facts->is_there = true;
  } else if (std::strcmp(name, "Py_Version") == 0) {
    uint64_t version = 0;
    if (read_variable(elf, symbol, &version, sizeof(version)))
      facts->version = static_cast<uint32_t>(version);
  } else if (std::strcmp(name, "_PyRuntime") == 0) {
    read_variable(elf, symbol, offsets, sizeof(*offsets));
  }
}

}  // namespace

PythonFacts read_python_facts(const profile::ElfFile& file) {
  PythonFacts facts;
  OffsetsBeginning offsets{};
  Elf* elf = file.handle();
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_DYNSYM) {
      each_symbol(elf, section, header, [&](const char* name, const GElf_Sym& symbol) {
        if (symbol.st_shndx != SHN_UNDEF) add_symbol(elf, name, symbol, &facts, &offsets);
      });
    }
  }
  if (!facts.is_there) return {};
  facts.has_own_layout = std::memcmp(offsets.cookie, kCookie, sizeof(offsets.cookie)) == 0 &&
                         static_cast<uint32_t>(offsets.version) >> 16 == facts.version >> 16;
  facts.is_free_threaded = facts.has_own_layout && offsets.is_free_threaded != 0;
  return facts;
}

}  // namespace memprof::cli
