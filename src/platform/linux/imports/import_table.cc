// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/import_table.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "cpu/elf_types.h"

namespace memprof::platform {
namespace {

constexpr uint16_t kHiddenVersion = 0x8000;
// A variable that holds pointers to functions is a struct of a few; tables of strings are larger.
constexpr uint64_t kMaxCopiedBytes = 4096;

template <typename T>
T read(uint64_t address) {
  T value;
  memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
  return value;
}

}  // namespace

const uint32_t ImportTable::kCopyRelocation = cpu::kCopy;

ImportTable::ImportTable(const dl_phdr_info& module, const WantedNames& wanted, Room* room)
    : module_(module), section_(module_), symbols_(reinterpret_cast<Symbol*>(room->bytes)) {
  for (uint32_t i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& h = module.dlpi_phdr[i];
    if (h.p_type == PT_GNU_RELRO) {
      relro_start_ = module.dlpi_addr + h.p_vaddr;
      relro_limit_ = relro_start_ + h.p_memsz;
    }
  }
  if (section_.is_readable()) {
    find_symbols(wanted);
  }
  find_slots();
}

void ImportTable::find_slots() {
  slots_ = reinterpret_cast<Slot*>(symbols_ + symbol_count_);
  each_relocation([this](const ElfW(Rela) & r) {
    has_copies_ = has_copies_ || ELF64_R_TYPE(r.r_info) == kCopyRelocation;
    visit_slot(r, [this](const Slot& slot) {
      if (slot_count_ < kMaxSlots) {
        slots_[slot_count_] = slot;
      }
      ++slot_count_;
    });
  });
}

size_t ImportTable::used_bytes() const {
  const uint32_t slots = slot_count_ <= kMaxSlots ? slot_count_ : 0;
  return symbol_count_ * sizeof(Symbol) + slots * sizeof(Slot);
}

bool ImportTable::has_code_at(uint64_t address) const {
  for (uint32_t i = 0; i < module_.dlpi_phnum; ++i) {
    const ElfW(Phdr)& h = module_.dlpi_phdr[i];
    if (h.p_type == PT_LOAD && (h.p_flags & PF_X) != 0 &&
        address - (module_.dlpi_addr + h.p_vaddr) < h.p_memsz) {
      return true;
    }
  }
  return false;
}

void ImportTable::find_symbols(const WantedNames& wanted) {
  const uint64_t gnu_hash = section_.gnu_hash();
  const uint64_t hash = section_.hash();
  // How many symbols are outside of the hash table.  An empty one does not tell, nor does none at all; then
  // the strings, which every linker puts behind the symbols, bound them.
  uint64_t limit = 0;
  bool has_hashed = false;
  if (gnu_hash != 0 && contains(gnu_hash, 16)) {
    const uint32_t buckets = read<uint32_t>(gnu_hash);
    const uint64_t words = read<uint32_t>(gnu_hash + 8);
    const uint64_t first_bucket = gnu_hash + 16 + words * 8;
    for (uint32_t i = 0; i < buckets && contains(first_bucket, uint64_t{buckets} * 4) && !has_hashed; ++i) {
      has_hashed = read<uint32_t>(first_bucket + i * uint64_t{4}) != 0;
    }
    limit = has_hashed ? read<uint32_t>(gnu_hash + 4) : 0;
  }
  if (!has_hashed && hash != 0 && contains(hash, 8)) {
    limit = read<uint32_t>(hash + 4);
  } else if (!has_hashed) {
    const uint64_t strings = reinterpret_cast<uint64_t>(section_.strings());
    limit = strings > section_.symbols() ? (strings - section_.symbols()) / sizeof(ElfW(Sym)) : 0;
  }
  scan_symbols(wanted, limit);
  if (has_hashed) {
    find_hashed(wanted);
  }
}

void ImportTable::scan_symbols(const WantedNames& wanted, uint64_t limit) {
  if (limit > UINT32_MAX || !contains(section_.symbols(), limit * sizeof(ElfW(Sym)))) {
    return;
  }
  // Most names differ from all that are wanted in their first letters.
  uint64_t beginnings[4] = {};
  const auto beginning_of = [](const char* name) {
    uint32_t h = static_cast<uint8_t>(name[0]);
    h = h != 0 ? h * 7 + static_cast<uint8_t>(name[1]) : h;
    return (h != 0 && name[1] != '\0' ? h * 5 + static_cast<uint8_t>(name[2]) : h) % 256;
  };
  uint8_t beginning[WantedNames::kMax];
  for (uint32_t n = 0; n < wanted.count; ++n) {
    const uint32_t b = beginning_of(wanted.names[n]);
    beginning[n] = static_cast<uint8_t>(b);
    beginnings[b / 64] |= uint64_t{1} << b % 64;
  }
  for (uint64_t i = 1; i < limit; ++i) {
    const char* name = section_.string(read<ElfW(Word)>(section_.symbols() + i * sizeof(ElfW(Sym))));
    if (name == nullptr) {
      continue;
    }
    const uint32_t b = beginning_of(name);
    if ((beginnings[b / 64] >> b % 64 & 1) == 0) {
      continue;
    }
    for (uint32_t n = 0; n < wanted.count; ++n) {
      if (beginning[n] == b && strcmp(name, wanted.names[n]) == 0) {
        add_symbol(i, n);
        break;
      }
    }
  }
}

void ImportTable::find_hashed(const WantedNames& wanted) {
  for (uint32_t n = 0; n < wanted.count; ++n) {
    section_.each_hashed(wanted.hashes[n], [&](uint64_t index) {
      ElfW(Sym) symbol;
      const char* name = section_.read(section_.symbols() + index * sizeof(symbol), &symbol)
                             ? section_.string(symbol.st_name)
                             : nullptr;
      if (name != nullptr && strcmp(name, wanted.names[n]) == 0) {
        add_symbol(index, n);
      }
      return false;  // another version may follow
    });
  }
}

void ImportTable::add_symbol(uint64_t index, uint32_t name) {
  if (symbol_count_ == kMaxSymbols) {
    return;
  }
  const auto symbol = read<ElfW(Sym)>(section_.symbols() + index * sizeof(ElfW(Sym)));
  const uint32_t type = ELF64_ST_TYPE(symbol.st_info);
  const uint32_t binding = ELF64_ST_BIND(symbol.st_info);
  if (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC) {
    return;
  }
  Symbol& s = symbols_[symbol_count_++];
  s.index = static_cast<uint32_t>(index);
  s.name = name;
  s.address = symbol.st_value != 0 ? symbol.st_value + module_.dlpi_addr : 0;
  s.is_defined = symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 && binding != STB_LOCAL;
  s.is_indirect = type == STT_GNU_IFUNC;
  const uint64_t version = section_.versions() + index * sizeof(uint16_t);
  s.is_default = section_.versions() == 0 || !contains(version, sizeof(uint16_t)) ||
                 (read<uint16_t>(version) & kHiddenVersion) == 0;
  filter_[index % kFilterBits / 64] |= uint64_t{1} << index % 64;
}

const ImportTable::Symbol* ImportTable::definition(uint32_t name) const {
  const Symbol* found = nullptr;
  for (uint32_t i = 0; i < symbol_count_; ++i) {
    const Symbol& s = symbols_[i];
    if (s.name == name && s.is_defined && (found == nullptr || (s.is_default && !found->is_default))) {
      found = &s;
    }
  }
  return found;
}

bool ImportTable::to_slot(const ElfW(Rela) & relocation, Slot* slot) const {
  const uint64_t index = ELF64_R_SYM(relocation.r_info);
  const uint32_t type = ELF64_R_TYPE(relocation.r_info);
  const uint64_t address = module_.dlpi_addr + relocation.r_offset;
  if ((type != cpu::kJumpSlot && type != cpu::kGlobDat && type != cpu::kAbsolute) ||
      address % sizeof(uint64_t) != 0 || !contains(address, sizeof(uint64_t))) {
    return false;
  }
  const bool is_constant = address - relro_start_ < relro_limit_ - relro_start_;
  if (type == cpu::kAbsolute && relocation.r_addend != 0) {
    return false;
  }
  slot->is_variable = type == cpu::kAbsolute && !is_constant;
  // The last page is left writable if it is not wholly constant.
  slot->in_relro =
      is_constant && address < (relro_limit_ & ~(static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) - 1));
  for (uint32_t i = 0; i < symbol_count_; ++i) {
    if (symbols_[i].index == index) {
      slot->address = address;
      slot->name = symbols_[i].name;
      slot->is_lazy = type == cpu::kJumpSlot;
      return true;
    }
  }
  return false;
}

uint64_t ImportTable::copied_bytes(uint64_t symbol_index, uint64_t address) const {
  ElfW(Sym) symbol;
  if (!section_.read(section_.symbols() + symbol_index * sizeof(symbol), &symbol) ||
      symbol.st_size > kMaxCopiedBytes || !contains(address, symbol.st_size)) {
    return 0;
  }
  return symbol.st_size;
}

}  // namespace memprof::platform
