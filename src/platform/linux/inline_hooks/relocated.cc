// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/relocated.h"

#include <cstdint>

#include "cpu/elf_types.h"

namespace memprof::platform {
namespace {

constexpr int64_t kRelrTag = 36;  // DT_RELR, which older headers do not have

const ElfW(Phdr) * find(const dl_phdr_info& module, uint32_t type) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    if (module.dlpi_phdr[i].p_type == type) {
      return &module.dlpi_phdr[i];
    }
  }
  return nullptr;
}

bool is_in(const dl_phdr_info& module, uint64_t offset, uint64_t size_bytes) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = module.dlpi_phdr[i];
    if (p.p_type == PT_LOAD && (p.p_flags & PF_R) != 0 && offset >= p.p_vaddr &&
        offset - p.p_vaddr <= p.p_memsz && size_bytes <= p.p_memsz - (offset - p.p_vaddr)) {
      return true;
    }
  }
  return false;
}

// What `address`, as the dynamic section has it (the loader adds where the module lies, or not yet), points at; nullptr:
// nothing of that size in the module.
template <typename T>
const T* at(const dl_phdr_info& module, uint64_t address, uint64_t count = 1) {
  const uint64_t offset = address >= module.dlpi_addr ? address - module.dlpi_addr : address;
  return is_in(module, offset, count * sizeof(T)) ? reinterpret_cast<const T*>(module.dlpi_addr + offset)
                                                  : nullptr;
}

struct Tables {
  uint64_t rela = 0;
  uint64_t rela_bytes = 0;
  uint64_t relr = 0;
};

Tables read_tables(const dl_phdr_info& module) {
  Tables tables;
  const ElfW(Phdr)* dynamic = find(module, PT_DYNAMIC);
  const uint64_t count = dynamic != nullptr ? dynamic->p_memsz / sizeof(ElfW(Dyn)) : 0;
  const ElfW(Dyn)* entries =
      count != 0 ? at<ElfW(Dyn)>(module, module.dlpi_addr + dynamic->p_vaddr, count) : nullptr;
  for (uint64_t i = 0; entries != nullptr && i < count && entries[i].d_tag != DT_NULL; ++i) {
    const ElfW(Dyn)& d = entries[i];
    if (d.d_tag == DT_RELA) {
      tables.rela = d.d_un.d_ptr;
    } else if (d.d_tag == DT_RELASZ) {
      tables.rela_bytes = d.d_un.d_val;
    } else if (d.d_tag == kRelrTag) {
      tables.relr = d.d_un.d_ptr;
    }
  }
  return tables;
}

}  // namespace

bool is_relocated(const dl_phdr_info& module) {
  const Tables tables = read_tables(module);
  const uint64_t count = tables.rela_bytes / sizeof(ElfW(Rela));
  const auto* entries = count != 0 ? at<ElfW(Rela)>(module, tables.rela, count) : nullptr;
  for (uint64_t i = 0; entries != nullptr && i < count; ++i) {
    const auto* word = at<uint64_t>(module, module.dlpi_addr + entries[i].r_offset);
    if (ELF64_R_TYPE(entries[i].r_info) == cpu::kRelative && word != nullptr) {
      return *word == module.dlpi_addr + static_cast<uint64_t>(entries[i].r_addend);
    }
  }
  // The first entry is the address of a word, which has an address as the module was linked until it is relocated.
  const auto* first = tables.relr != 0 ? at<uint64_t>(module, tables.relr) : nullptr;
  const auto* word =
      first != nullptr && (*first & 1) == 0 ? at<uint64_t>(module, module.dlpi_addr + *first) : nullptr;
  return word == nullptr || *word >= module.dlpi_addr;
}

}  // namespace memprof::platform
