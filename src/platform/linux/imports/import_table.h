// SPDX-License-Identifier: Apache-2.0
// What a loaded module imports and defines, of a given list of names: a reader of its dynamic section.
//
// Model: the names that are looked for get an index into the symbol table of the module first (its undefined
// symbols are few and come before the hashed ones; the defined ones are found by hash).  Then its relocations
// are passed through once, by symbol index; the run of relative ones in front is skipped.
//
//     .rela.dyn   GLOB_DAT, and absolute words with addend 0: pointers in data             ─┐
//     .rela.plt   JUMP_SLOT, bound or still pointing into the module's own PLT             ├─ slots
//     DT_RELR has no symbols; DT_REL is not used on 64-bit processors                      ─┘
//
// An executable can have copies of libraries' variables (COPY relocations), which everybody uses in place of
// the libraries'.  What their words are is not in any table: they are told one by one.
//
// Threads: the caller keeps the module from being unloaded (loader's callback).
// Allocates: never; what is found lies in memory of the caller's.
// Failure: a table that lies outside of the module's segments is taken for absent.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "platform/linux/modules/dynamic_section.h"

namespace memprof::platform {

// A list of names; at most kMax of them.  Their hashes are made once, for all modules.
struct WantedNames {
  static constexpr uint32_t kMax = 64;
  constexpr WantedNames() = default;
  constexpr WantedNames(const char* const* of, uint32_t number) : names(of), count(number) {
    for (uint32_t i = 0; i < count; ++i) {
      hashes[i] = DynamicSection::gnu_hash_of(names[i]);
    }
  }

  const char* const* names = nullptr;
  uint32_t count = 0;
  uint32_t hashes[kMax] = {};
};

class ImportTable {
 public:
  // One symbol of the module with a wanted name.  Versions can make several of one name.
  struct Symbol {
    uint32_t index;
    uint32_t name;     // index into the wanted names
    uint64_t address;  // of the definition here; for an undefined one, of its entry in the module's PLT, or 0
    bool is_defined;
    bool is_indirect;  // STT_GNU_IFUNC: `address` is a function that returns the function
    bool is_default;   // not a symbol of an old version
  };

  struct Slot {
    uint64_t address;
    uint32_t name;
    bool is_lazy;      // JUMP_SLOT: may be unbound, then it holds an address in the module itself
    bool in_relro;     // in a page that the loader makes read-only when the module is relocated
    bool is_variable;  // in writable data: the program may have stored something else there
  };

  static constexpr uint32_t kMaxSymbols = 2 * WantedNames::kMax;
  static constexpr uint32_t kMaxSlots = 64;
  // For what is found: symbols, and the slots behind them.
  struct Room {
    alignas(8) char bytes[kMaxSymbols * sizeof(Symbol) + kMaxSlots * sizeof(Slot)];
  };

  // Reads the tables of the module.  `room`: to be there as long as this.
  ImportTable(const dl_phdr_info& module, const WantedNames& wanted, Room* room);
  ImportTable(const ImportTable&) = delete;
  ImportTable& operator=(const ImportTable&) = delete;

  // The bytes of the room that are in use.
  size_t used_bytes() const;
  // Is it the module's that is loaded where this one is?
  bool is_of(const dl_phdr_info& module) const {
    return module_.dlpi_addr == module.dlpi_addr && module_.dlpi_phdr == module.dlpi_phdr;
  }

  // false: there is no dynamic section, or none that can be believed.
  bool is_readable() const { return section_.is_readable(); }

  const Symbol* symbols() const { return symbols_; }
  uint32_t symbol_count() const { return symbol_count_; }
  // The definition of a wanted name; nullptr: the module has none.
  const Symbol* definition(uint32_t name) const;

  // Calls visit(slot) for each slot of a wanted name.
  template <typename Visit>
  void each_slot(const Visit& visit) const {
    if (slot_count_ > kMaxSlots) {
      return each_relocation([&](const ElfW(Rela) & r) { visit_slot(r, visit); });
    }
    for (uint32_t i = 0; i < slot_count_; ++i) {
      visit(slots_[i]);
    }
  }

  // Calls visit(address) for each aligned word of the variables that are copies of other modules'.
  template <typename Visit>
  void each_copied_word(const Visit& visit) const {
    if (!has_copies_) {
      return;
    }
    each_relocation([&](const ElfW(Rela) & r) {
      if (ELF64_R_TYPE(r.r_info) == kCopyRelocation) {
        const uint64_t start = module_.dlpi_addr + r.r_offset;
        const uint64_t words = copied_bytes(ELF64_R_SYM(r.r_info), start) / sizeof(uint64_t);
        for (uint64_t w = 0; start % sizeof(uint64_t) == 0 && w < words; ++w) {
          visit(start + w * sizeof(uint64_t));
        }
      }
    });
  }

  // Calls visit(name) for each library that the module needs (DT_NEEDED).
  template <typename Visit>
  void each_needed(const Visit& visit) const {
    section_.each_needed(visit);
  }
  // What the module is called in others' DT_NEEDED; nullptr: it does not say.
  const char* soname() const { return section_.soname(); }

  // Is an address inside a segment of the module (one with code)?
  bool contains(uint64_t address, uint64_t size_bytes = 1) const {
    return is_in_module(module_, address, size_bytes);
  }
  bool has_code_at(uint64_t address) const;
  // Is it an address in the code of the module as it stands in the file?
  bool is_unrelocated(uint64_t value) const {
    return module_.dlpi_addr != 0 && has_code_at(value + module_.dlpi_addr);
  }

 private:
  static constexpr uint32_t kFilterBits = 1024;
  static const uint32_t kCopyRelocation;

  void find_symbols(const WantedNames& wanted);
  void scan_symbols(const WantedNames& wanted, uint64_t limit);
  void find_hashed(const WantedNames& wanted);
  void find_slots();
  void add_symbol(uint64_t index, uint32_t name);
  bool to_slot(const ElfW(Rela) & relocation, Slot* slot) const;
  // The size of a variable of the module, if all of it lies in the module and it is no large one; else 0.
  uint64_t copied_bytes(uint64_t symbol_index, uint64_t address) const;

  // A large module has tens of thousands, and few slots.
  template <typename Visit>
  void each_relocation(const Visit& visit) const {
    for (const DynamicSection::Relocations& relocations : section_.relocations()) {
      const auto* r = reinterpret_cast<const ElfW(Rela)*>(relocations.start);
      for (uint64_t i = 0; i < relocations.count; ++i) {
        visit(r[i]);
      }
    }
  }
  template <typename Visit>
  void visit_slot(const ElfW(Rela) & relocation, const Visit& visit) const {
    const uint64_t index = ELF64_R_SYM(relocation.r_info);
    Slot slot;
    if ((filter_[index % kFilterBits / 64] >> index % 64 & 1) != 0 && to_slot(relocation, &slot)) {
      visit(slot);
    }
  }

  const dl_phdr_info module_;
  const DynamicSection section_;
  uint64_t relro_start_ = 0;
  uint64_t relro_limit_ = 0;
  bool has_copies_ = false;
  uint64_t filter_[kFilterBits / 64] = {};  // of the indexes of symbols_
  Symbol* const symbols_;
  Slot* slots_ = nullptr;
  uint32_t symbol_count_ = 0;
  uint32_t slot_count_ = 0;  // more than kMaxSlots: they are not in slots_
};

}  // namespace memprof::platform
