// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/modules/dynamic_section.h"

#include <elf.h>

namespace memprof::platform {

namespace {

// How much of the readable segment that `address` lies in is behind it; 0: it is in none.
uint64_t readable_bytes(const dl_phdr_info& module, uint64_t address) {
  for (uint32_t i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& h = module.dlpi_phdr[i];
    const uint64_t offset = address - (module.dlpi_addr + h.p_vaddr);
    if (h.p_type == PT_LOAD && (h.p_flags & PF_R) != 0 && offset < h.p_memsz) {
      return h.p_memsz - offset;
    }
  }
  return 0;
}

}  // namespace

// What is adjacent counts as one: tools that edit executables (patchelf) let a table begin in a segment of
// their own and go on in the next.
bool is_in_module(const dl_phdr_info& module, uint64_t address, uint64_t size_bytes) {
  for (uint64_t found = 1; found != 0;) {
    found = readable_bytes(module, address);
    if (found != 0 && size_bytes <= found) {
      return true;
    }
    address += found;
    size_bytes -= found;
  }
  return false;
}

DynamicSection::DynamicSection(const dl_phdr_info& module) : module_(module) {
  for (uint32_t i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& h = module.dlpi_phdr[i];
    const uint64_t start = module.dlpi_addr + h.p_vaddr;
    if (h.p_type == PT_DYNAMIC && is_in_module(module, start, sizeof(ElfW(Dyn)))) {
      read_entries(reinterpret_cast<const ElfW(Dyn)*>(start));
      return;
    }
  }
}

void DynamicSection::read_hash_header() {
  uint32_t header[4];
  if (!read(gnu_hash_, &header) || header[0] == 0 || header[2] == 0 || header[3] >= 32) {
    return;
  }
  const uint64_t filter = gnu_hash_ + sizeof(header);
  if (is_in_module(module_, filter, uint64_t{header[2]} * 8 + uint64_t{header[0]} * 4)) {
    hashed_ = {header[0], header[1], header[2], header[3], filter};
  }
}

// glibc adds the load address to the pointers of most modules; not to those of the vdso, and musl to none.
uint64_t DynamicSection::to_address(uint64_t pointer) const {
  return pointer == 0                                         ? 0
         : is_in_module(module_, pointer)                     ? pointer
         : is_in_module(module_, pointer + module_.dlpi_addr) ? pointer + module_.dlpi_addr
                                                              : 0;
}

DynamicSection::Relocations DynamicSection::to_relocations(uint64_t start, uint64_t size_bytes,
                                                           uint64_t skipped) const {
  const uint64_t count = size_bytes / sizeof(ElfW(Rela));
  start = to_address(start);
  if (start == 0 || count <= skipped || !is_in_module(module_, start, count * sizeof(ElfW(Rela)))) {
    return {0, 0};
  }
  return {start + skipped * sizeof(ElfW(Rela)), count - skipped};
}

void DynamicSection::read_entries(const ElfW(Dyn) * entries) {
  uint64_t symbols = 0, strings = 0, strings_bytes = 0, gnu_hash = 0, hash = 0, versions = 0;
  uint64_t rela = 0, rela_bytes = 0, relative = 0, plt = 0, plt_bytes = 0, plt_kind = DT_RELA;
  uint64_t soname = UINT64_MAX;
  // So many entries are known to be there; one that begins in the next segment is asked for.
  uint64_t known = readable_bytes(module_, reinterpret_cast<uint64_t>(entries)) / sizeof(*entries);
  for (const ElfW(Dyn)* d = entries;; ++d) {
    if (known == 0 && !is_in_module(module_, reinterpret_cast<uint64_t>(d), sizeof(*d))) {
      return;  // it has no end
    }
    known -= known != 0 ? 1 : 0;
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
  strings = to_address(strings);
  symbols = to_address(symbols);
  // The last byte ends the last string: no string that begins inside can leave the table.
  char last = 1;
  if (symbols == 0 || strings == 0 || strings_bytes == 0 || !is_in_module(module_, strings, strings_bytes) ||
      !read(strings + strings_bytes - 1, &last) || last != '\0') {
    return;
  }
  entries_ = entries;
  symbols_ = symbols;
  strings_ = reinterpret_cast<const char*>(strings);
  strings_bytes_ = strings_bytes;
  gnu_hash_ = to_address(gnu_hash);
  read_hash_header();
  hash_ = to_address(hash);
  versions_ = to_address(versions);
  soname_ = string(soname);
  if (rela != 0) {
    relocations_[0] = to_relocations(rela, rela_bytes, relative);
  }
  if (plt != 0 && plt_kind == DT_RELA) {
    relocations_[1] = to_relocations(plt, plt_bytes, 0);
  }
}

}  // namespace memprof::platform
