// SPDX-License-Identifier: Apache-2.0
// A program with debug info, opened, and the addresses of its functions.
#pragma once

#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "profile/symbolize/elf/elf_file.h"
#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile::fixture {

class OpenDwarf {
 public:
  explicit OpenDwarf(const std::string& program) {
    std::string why;
    file_ = ElfFile::open(path("debug/" + program), &why);
    if (file_ != nullptr) dwarf_ = dwarf_begin_elf(file_->handle(), DWARF_C_READ, nullptr);
  }
  ~OpenDwarf() { dwarf_end(dwarf_); }
  OpenDwarf(const OpenDwarf&) = delete;
  OpenDwarf& operator=(const OpenDwarf&) = delete;

  const ElfFile& file() const { return *file_; }
  Dwarf* get() const { return dwarf_; }

  struct Function {
    uint64_t begin = 0;
    uint64_t size = 0;
  };

  // The function whose symbol is `prefix`, else begins with it; zeros: there is none.
  Function function(const std::string& prefix) const {
    Function found;
    Elf_Scn* section = nullptr;
    while ((section = elf_nextscn(file_->handle(), section)) != nullptr) {
      GElf_Shdr header;
      gelf_getshdr(section, &header);
      if (header.sh_type != SHT_SYMTAB) continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      for (size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
        GElf_Sym symbol;
        gelf_getsym(data, static_cast<int>(i), &symbol);
        const char* name = elf_strptr(file_->handle(), header.sh_link, symbol.st_name);
        if (symbol.st_size != 0 && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
            std::strncmp(name, prefix.c_str(), prefix.size()) == 0) {
          found = {symbol.st_value, symbol.st_size};
          if (prefix == name) return found;
        }
      }
    }
    return found;
  }

 private:
  std::unique_ptr<ElfFile> file_;
  Dwarf* dwarf_ = nullptr;
};

}  // namespace memprof::profile::fixture
