// SPDX-License-Identifier: Apache-2.0
// The symbols of a table in an ELF file, which is not trusted: what is broken ends them.
//
// Threads: no state.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>

namespace memprof::cli {

// Calls visit(name, symbol) for each that has a name, those included that are only asked for.
template <typename Visit>
void each_symbol(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, const Visit& visit) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(std::min<uint64_t>(data->d_size / header.sh_entsize, 1u << 30));
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, i, &symbol) == nullptr) return;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr) visit(name, symbol);
  }
}

// The bytes of a variable as the file has them; false: it has not that many.
inline bool read_variable(Elf* elf, const GElf_Sym& symbol, void* bytes, size_t size) {
  Elf_Scn* section = elf_getscn(elf, symbol.st_shndx);
  GElf_Shdr header;
  if (section == nullptr || gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS ||
      symbol.st_value < header.sh_addr) {
    return false;
  }
  const Elf_Data* data = elf_rawdata(section, nullptr);
  const uint64_t at = symbol.st_value - header.sh_addr;
  if (data == nullptr || data->d_buf == nullptr || at > data->d_size || size > data->d_size - at) {
    return false;
  }
  std::memcpy(bytes, static_cast<const char*>(data->d_buf) + at, size);
  return true;
}

}  // namespace memprof::cli
