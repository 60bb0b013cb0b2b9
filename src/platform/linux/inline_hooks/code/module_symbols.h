// SPDX-License-Identifier: Apache-2.0
// The functions that a loaded module defines, by its file's symbol tables: .symtab, .dynsym, and those of its debug file.
//
// Model: the file is mapped while it is read.  It is believed where its program headers are those in memory.
//
// Threads: the caller keeps the module from being unloaded.
// Allocates: address space, given back at the end.
// Failure: a file that is not there, was replaced or is damaged has no functions.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

// A file, mapped to be read.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const char* path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // nullptr: [offset, offset + size_bytes) is not all in it.
  const uint8_t* at(uint64_t offset, uint64_t size_bytes) const {
    return offset <= size_bytes_ && size_bytes <= size_bytes_ - offset ? start_ + offset : nullptr;
  }

 private:
  const uint8_t* start_ = nullptr;
  uint64_t size_bytes_ = 0;
};

struct FunctionSymbol {
  const char* name;  // valid as long as the ModuleSymbols
  uint64_t address;  // in this process
  uint64_t size_bytes;
  uint64_t index;  // of it among all symbols that are looked at; below ModuleSymbols::count()
  // Its compiler may have known all its callers, so that it is right for their calls only: a static function, or by -flto.
  bool is_local;
};

class ModuleSymbols {
 public:
  // `path`: of the module's file.
  ModuleSymbols(const dl_phdr_info& module, const char* path);

  bool is_readable() const { return is_readable_; }

  uint64_t count() const { return count_; }

  // visit(function) for each; the same function may come more than once.  `only`: a bit for each index that is wanted;
  // nullptr: all.
  template <typename Visit>
  void each_function(const Visit& visit, const uint64_t* only = nullptr) const {
    uint64_t index = 0;
    for (uint32_t i = 0; i < table_count_; ++i) {
      const Table& t = tables_[i];
      for (uint64_t s = 0; s < t.count; ++s, ++index) {
        if (only != nullptr && (only[index / 64] >> index % 64 & 1) == 0) {
          continue;
        }
        const ElfW(Sym)& symbol = t.symbols[s];
        const uint32_t type = ELF64_ST_TYPE(symbol.st_info);
        if (type == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
            symbol.st_name < t.names_bytes) {
          const bool is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL && s < t.hidden_from;
          visit(FunctionSymbol{t.names + symbol.st_name, module_.dlpi_addr + symbol.st_value, symbol.st_size,
                               index, is_local});
        }
      }
    }
  }

  // Is the code of a function all in the module's code, and as in its file?
  bool is_code(uint64_t address, uint64_t size_bytes) const;

 private:
  struct Table {
    const ElfW(Sym) * symbols;
    uint64_t count;
    const char* names;  // end with a NUL
    uint64_t names_bytes;
    bool is_dynamic;
    uint64_t globals;
    uint64_t
        hidden_from;  // local ones from here on were global to their compiler: the linker made them local
  };
  static constexpr uint32_t kMaxTables = 4;

  bool is_same() const;
  void add_tables(const MappedFile& file, bool is_debug);
  void drop_what_is_twice();
  bool has_symtab() const { return has_symtab_; }

  const dl_phdr_info& module_;
  const MappedFile file_;
  const MappedFile debug_file_;
  bool is_readable_ = false;
  bool has_symtab_ = false;
  uint32_t table_count_ = 0;
  uint64_t count_ = 0;
  Table tables_[kMaxTables] = {};
};

}  // namespace memprof::platform
