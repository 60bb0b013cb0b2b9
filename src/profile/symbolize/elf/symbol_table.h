// SPDX-License-Identifier: Apache-2.0
// The functions of one module, by address: .symtab and .dynsym of its file and of its separate debug file.
//
// Model: an address belongs to a symbol when value <= address < value + size.  A symbol without a size (code
// in assembly language) ends at the next symbol or with its section, and counts only where the table is
// whole: where local symbols were stripped, the code behind it may be anybody's.  There is no "nearest"
// symbol.
//
// A table for some addresses keeps the symbols that have one of them, so that it is as large as what is named; it says of
// these addresses what one with all symbols would.
//
// Threads: one object, one thread.
// Owns: nothing; the ElfFiles that were added must live as long as it does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct Elf;
struct Elf_Scn;

namespace memprof::profile {

class ElfFile;

class SymbolTable {
 public:
  // For all addresses.
  SymbolTable() = default;
  // For these, in any order.
  explicit SymbolTable(std::vector<uint64_t> addresses);

  // Adds the functions of a file.
  void add(const ElfFile& file);

  // After the last add().
  void finish();

  // The function at an address, as in the symbol table but without its version (`@@GLIBC_2.2.5`).  Of
  // several, the innermost; of aliases, the same one each time (is_better in the .cc file).  False: there is
  // none.
  bool find(uint64_t vaddr, std::string* name) const;

  // The name that find() would give to code that is also called `alias`: libc's debug info says
  // `__GI___libc_malloc` where people know `malloc`.  `alias` itself where no symbol of that name is there.
  std::string usual_name(uint64_t vaddr, const std::string& alias) const;

  bool empty() const { return symbols_.empty(); }
  size_t size() const { return symbols_.size(); }

 private:
  struct Symbol {
    uint64_t begin;
    uint64_t end;
    uint32_t name_offset;
    uint32_t table : 8;       // index into tables_
    uint32_t is_unsized : 1;  // `end` is that of its section until finish()
    uint32_t kind : 2;        // 0 function, 1 indirect function, 2 label
    uint32_t is_local : 1;
  };
  // Where the names of symbols are.
  struct Table {
    Elf* elf;
    size_t strings_section;
  };

  bool is_asked(uint64_t begin, uint64_t end) const;
  void note_begin(uint64_t begin, std::vector<uint64_t>* nearest) const;
  void end_unsized();

  const Symbol* best_at(uint64_t vaddr) const;
  void add_table(Elf* elf, Elf_Scn* section, bool is_dynamic);
  std::string_view name_of(const Symbol& symbol) const;
  bool is_better(const Symbol& a, const Symbol& b) const;

  const bool has_all_ = true;
  std::vector<uint64_t> addresses_;  // ascending
  std::vector<uint64_t>
      nearest_;  // by address: where the last symbol at or before it begins, once finish() was called
  std::vector<Table> tables_;
  std::vector<Symbol> symbols_;  // by begin
  std::vector<uint64_t> reach_;  // reach_[i]: the largest end of symbols_[0..i]
};

}  // namespace memprof::profile
