// SPDX-License-Identifier: Apache-2.0
// The symbols of a table in an ELF file, which is not trusted: what is broken ends them.
//
// Threads: no state.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <algorithm>

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

}  // namespace memprof::cli
