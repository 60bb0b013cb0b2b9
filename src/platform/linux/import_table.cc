// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/import_table.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

namespace memprof::platform {
namespace {

#if defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr uint32_t kGlobDat = R_AARCH64_GLOB_DAT;
constexpr uint32_t kAbsolute = R_AARCH64_ABS64;
#else
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr uint32_t kGlobDat = R_X86_64_GLOB_DAT;
constexpr uint32_t kAbsolute = R_X86_64_64;
#endif

constexpr uint16_t kHiddenVersion = 0x8000;

template <typename T>
T read(uint64_t address) {
  T value;
  memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
  return value;
}

}  // namespace

ImportTable::ImportTable(const dl_phdr_info& module, const WantedNames& wanted)
    : module_(module), wanted_(wanted) {
  const ElfW(Phdr)* dynamic = nullptr;
  for (uint32_t i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& h = module.dlpi_phdr[i];
    if (h.p_type == PT_DYNAMIC) {
      dynamic = &h;
    } else if (h.p_type == PT_GNU_RELRO) {
      relro_start_ = module.dlpi_addr + h.p_vaddr;
      relro_limit_ = relro_start_ + h.p_memsz;
    }
  }
  if (dynamic != nullptr && contains(module.dlpi_addr + dynamic->p_vaddr, sizeof(ElfW(Dyn)))) {
    read_dynamic(reinterpret_cast<const ElfW(Dyn)*>(module.dlpi_addr + dynamic->p_vaddr));
  }
}

uint32_t gnu_hash_of(const char* name) {
  uint32_t h = 5381;
  for (; *name != '\0'; ++name) {
    h = h * 33 + static_cast<uint8_t>(*name);
  }
  return h;
}

// What is adjacent counts as one: tools that edit executables (patchelf) let a table begin in a segment of
// their own and go on in the next.
bool is_in_module(const dl_phdr_info& module, uint64_t address, uint64_t size_bytes) {
  for (uint64_t found = 1; found != 0;) {
    found = 0;
    for (uint32_t i = 0; i < module.dlpi_phnum && found == 0; ++i) {
      const ElfW(Phdr)& h = module.dlpi_phdr[i];
      const uint64_t offset = address - (module.dlpi_addr + h.p_vaddr);
      if (h.p_type == PT_LOAD && (h.p_flags & PF_R) != 0 && offset < h.p_memsz) {
        found = h.p_memsz - offset;
      }
    }
    if (found != 0 && size_bytes <= found) {
      return true;
    }
    address += found;
    size_bytes -= found;
  }
  return false;
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

// glibc adds the load address to the pointers of most modules; not to those of the vdso, and musl to none.
uint64_t to_address(const dl_phdr_info& module, uint64_t pointer) {
  return pointer == 0                                       ? 0
         : is_in_module(module, pointer)                    ? pointer
         : is_in_module(module, pointer + module.dlpi_addr) ? pointer + module.dlpi_addr
                                                            : 0;
}

ImportTable::Relocations ImportTable::to_relocations(uint64_t start, uint64_t size_bytes,
                                                     uint64_t skipped) const {
  const uint64_t count = size_bytes / sizeof(ElfW(Rela));
  start = to_address(module_, start);
  if (start == 0 || count <= skipped || !contains(start, count * sizeof(ElfW(Rela)))) {
    return {0, 0};
  }
  return {start + skipped * sizeof(ElfW(Rela)), count - skipped};
}

void ImportTable::read_dynamic(const ElfW(Dyn) * dynamic) {
  uint64_t symbols = 0, strings = 0, strings_bytes = 0, gnu_hash = 0, hash = 0, versions = 0;
  uint64_t rela = 0, rela_bytes = 0, relative = 0, plt = 0, plt_bytes = 0, plt_kind = DT_RELA;
  uint64_t soname = UINT64_MAX;
  for (const ElfW(Dyn)* d = dynamic;; ++d) {
    if (!contains(reinterpret_cast<uint64_t>(d), sizeof(*d))) {
      return;  // it has no end
    }
    if (d->d_tag == DT_NULL) {
      break;
    }
    switch (d->d_tag) {
      case DT_SYMTAB:
        symbols = d->d_un.d_ptr;
        break;
      case DT_STRTAB:
        strings = d->d_un.d_ptr;
        break;
      case DT_STRSZ:
        strings_bytes = d->d_un.d_val;
        break;
      case DT_GNU_HASH:
        gnu_hash = d->d_un.d_ptr;
        break;
      case DT_HASH:
        hash = d->d_un.d_ptr;
        break;
      case DT_VERSYM:
        versions = d->d_un.d_ptr;
        break;
      case DT_RELA:
        rela = d->d_un.d_ptr;
        break;
      case DT_RELASZ:
        rela_bytes = d->d_un.d_val;
        break;
      case DT_RELACOUNT:
        relative = d->d_un.d_val;
        break;
      case DT_JMPREL:
        plt = d->d_un.d_ptr;
        break;
      case DT_PLTRELSZ:
        plt_bytes = d->d_un.d_val;
        break;
      case DT_PLTREL:
        plt_kind = d->d_un.d_val;
        break;
      case DT_SONAME:
        soname = d->d_un.d_val;
        break;
      default:
        break;
    }
  }
  strings = to_address(module_, strings);
  // The last byte ends the last string: no string that begins inside can leave the table.
  if (strings == 0 || strings_bytes == 0 || !contains(strings, strings_bytes) ||
      read<char>(strings + strings_bytes - 1) != '\0') {
    return;
  }
  strings_ = reinterpret_cast<const char*>(strings);
  strings_bytes_ = strings_bytes;
  symbols_start_ = to_address(module_, symbols);
  if (symbols_start_ == 0) {
    return;
  }
  dynamic_ = dynamic;
  soname_ = soname < strings_bytes ? strings_ + soname : nullptr;
  versions_ = to_address(module_, versions);
  find_symbols(to_address(module_, gnu_hash), to_address(module_, hash));
  if (rela != 0) {
    relocations_[0] = to_relocations(rela, rela_bytes, relative);
  }
  if (plt != 0 && plt_kind == DT_RELA) {
    relocations_[1] = to_relocations(plt, plt_bytes, 0);
  }
}

const char* ImportTable::name_of(uint64_t index) const {
  const uint64_t at = symbols_start_ + index * sizeof(ElfW(Sym));
  if (!contains(at, sizeof(ElfW(Sym)))) {
    return nullptr;
  }
  const uint64_t offset = read<ElfW(Sym)>(at).st_name;
  return offset < strings_bytes_ ? strings_ + offset : nullptr;
}

void ImportTable::find_symbols(uint64_t gnu_hash, uint64_t hash) {
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
    const uint64_t strings = reinterpret_cast<uint64_t>(strings_);
    limit = strings > symbols_start_ ? (strings - symbols_start_) / sizeof(ElfW(Sym)) : 0;
  }
  scan_symbols(limit);
  if (has_hashed) {
    find_hashed(gnu_hash);
  }
}

void ImportTable::scan_symbols(uint64_t limit) {
  if (limit > UINT32_MAX || !contains(symbols_start_, limit * sizeof(ElfW(Sym)))) {
    return;
  }
  // Most names differ from all that are wanted in their first letters.
  uint64_t beginnings[4] = {};
  const auto beginning_of = [](const char* name) {
    uint32_t h = static_cast<uint8_t>(name[0]);
    h = h != 0 ? h * 7 + static_cast<uint8_t>(name[1]) : h;
    return (h != 0 && name[1] != '\0' ? h * 5 + static_cast<uint8_t>(name[2]) : h) % 256;
  };
  uint8_t beginning[WantedNames::kMost];
  for (uint32_t n = 0; n < wanted_.count; ++n) {
    const uint32_t b = beginning_of(wanted_.names[n]);
    beginning[n] = static_cast<uint8_t>(b);
    beginnings[b / 64] |= uint64_t{1} << b % 64;
  }
  for (uint64_t i = 1; i < limit; ++i) {
    const uint64_t offset = read<ElfW(Word)>(symbols_start_ + i * sizeof(ElfW(Sym)));
    if (offset >= strings_bytes_) {
      continue;
    }
    const char* name = strings_ + offset;
    const uint32_t b = beginning_of(name);
    if ((beginnings[b / 64] >> b % 64 & 1) == 0) {
      continue;
    }
    for (uint32_t n = 0; n < wanted_.count; ++n) {
      if (beginning[n] == b && strcmp(name, wanted_.names[n]) == 0) {
        add_symbol(i, n);
        break;
      }
    }
  }
}

void ImportTable::find_hashed(uint64_t gnu_hash) {
  const uint64_t buckets = read<uint32_t>(gnu_hash);
  const uint64_t first = read<uint32_t>(gnu_hash + 4);
  const uint64_t words = read<uint32_t>(gnu_hash + 8);
  const uint32_t shift = read<uint32_t>(gnu_hash + 12);
  const uint64_t bloom = gnu_hash + 16;
  const uint64_t bucket = bloom + words * 8;
  const uint64_t chain = bucket + buckets * 4;
  if (words == 0 || shift >= 32 || !contains(bloom, words * 8)) {
    return;
  }
  for (uint32_t n = 0; n < wanted_.count; ++n) {
    const uint32_t h = gnu_hash_of(wanted_.names[n]);
    const uint64_t word = read<uint64_t>(bloom + h / 64 % words * 8);
    if ((word >> h % 64 & word >> (h >> shift) % 64 & 1) == 0) {
      continue;
    }
    for (uint64_t i = read<uint32_t>(bucket + h % buckets * 4); i >= first; ++i) {
      const uint64_t link = chain + (i - first) * 4;
      if (!contains(link, 4)) {
        break;
      }
      const uint32_t hash = read<uint32_t>(link);
      const char* name = (hash | 1) == (h | 1) ? name_of(i) : nullptr;
      if (name != nullptr && strcmp(name, wanted_.names[n]) == 0) {
        add_symbol(i, n);
      }
      if ((hash & 1) != 0) {
        break;
      }
    }
  }
}

void ImportTable::add_symbol(uint64_t index, uint32_t name) {
  if (symbol_count_ == kMostSymbols) {
    return;
  }
  const auto symbol = read<ElfW(Sym)>(symbols_start_ + index * sizeof(ElfW(Sym)));
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
  const uint64_t version = versions_ + index * sizeof(uint16_t);
  s.is_default = versions_ == 0 || !contains(version, sizeof(uint16_t)) ||
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
  if ((type != kJumpSlot && type != kGlobDat && type != kAbsolute) || address % sizeof(uint64_t) != 0 ||
      !contains(address, sizeof(uint64_t))) {
    return false;
  }
  // Writable tables of functions belong to the program: it may compare, change or copy what is in them.
  const bool is_constant = address - relro_start_ < relro_limit_ - relro_start_;
  if (type == kAbsolute && (relocation.r_addend != 0 || !is_constant)) {
    return false;
  }
  // The last page is left writable if it is not wholly constant.
  slot->in_relro =
      is_constant && address < (relro_limit_ & ~(static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) - 1));
  for (uint32_t i = 0; i < symbol_count_; ++i) {
    if (symbols_[i].index == index) {
      slot->address = address;
      slot->name = symbols_[i].name;
      slot->is_lazy = type == kJumpSlot;
      return true;
    }
  }
  return false;
}

}  // namespace memprof::platform
