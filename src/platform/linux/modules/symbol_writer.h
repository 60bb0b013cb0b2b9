// SPDX-License-Identifier: Apache-2.0
// Changes what loaded modules define: addresses in their tables of dynamic symbols, as this process has them.
//
// Model: names that the loader looks up from then on find what was written; what is bound already stays. The pages of the
// symbols are made writable for as long as that takes.
//
// Threads: one at a time; others may look names up meanwhile, and find either. The caller keeps the module from being
//   unloaded.
// Allocates: never.
// Failure: false; nothing was changed.
#pragma once

#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstdint>

#include "platform/linux/modules/dynamic_section.h"

namespace memprof::platform {

class SymbolWriter {
 public:
  static constexpr uint32_t kMax = 64;

  explicit SymbolWriter(const dl_phdr_info& module) : module_(module), section_(module) {}

  // Notes that the module's `name`, in each version that it defines as `expected`, is to be `value`; 0: undefined.
  // false: it does not define it so, or there is no room.
  bool add(const char* name, uint64_t expected, uint64_t value) {
    bool is_found = false;
    if (!section_.is_readable()) {
      return false;
    }
    section_.each_hashed(name, [&](uint64_t index) {
      const uint64_t at = section_.symbols() + index * sizeof(ElfW(Sym));
      ElfW(Sym) symbol;
      const char* const found = section_.read(at, &symbol) ? section_.string(symbol.st_name) : nullptr;
      if (found == nullptr || strcmp(found, name) != 0 || symbol.st_shndx == SHN_UNDEF ||
          module_.dlpi_addr + symbol.st_value != expected || count_ == kMax) {
        return false;
      }
      changes_[count_++] = {at, value != 0 ? value - module_.dlpi_addr : 0};
      is_found = true;
      return false;  // another version may follow
    });
    return is_found;
  }

  uint32_t count() const { return count_; }

  bool write() const {
    if (count_ == 0) {
      return true;
    }
    uint64_t first = UINT64_MAX;
    uint64_t limit = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      const uint64_t at = changes_[i].symbol;
      first = at < first ? at : first;
      limit = at + sizeof(ElfW(Sym)) > limit ? at + sizeof(ElfW(Sym)) : limit;
    }
    const uint64_t start = first & ~(uint64_t{getauxval(AT_PAGESZ)} - 1);
    const int protection = protection_at(first);
    if (protection < 0 ||
        mprotect(reinterpret_cast<void*>(start), limit - start, protection | PROT_WRITE) != 0) {
      return false;
    }
    for (uint32_t i = 0; i < count_; ++i) {
      // In one piece: other threads may look names up. Release: who finds the function sees what was made for it.
      __atomic_store_n(&reinterpret_cast<ElfW(Sym)*>(changes_[i].symbol)->st_value, changes_[i].value,
                       __ATOMIC_RELEASE);
    }
    mprotect(reinterpret_cast<void*>(start), limit - start, protection);
    return true;
  }

 private:
  struct Change {
    uint64_t symbol;  // its address
    uint64_t value;   // relative to the module's
  };

  // What the segment there allows; -1: there is none.
  int protection_at(uint64_t address) const {
    int protection = -1;
    for (uint32_t i = 0; i < module_.dlpi_phnum; ++i) {
      const ElfW(Phdr)& h = module_.dlpi_phdr[i];
      if (h.p_type == PT_LOAD && address - (module_.dlpi_addr + h.p_vaddr) < h.p_memsz) {
        protection = ((h.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((h.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
                     ((h.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
      }
    }
    return protection;
  }

  const dl_phdr_info& module_;
  const DynamicSection section_;
  uint32_t count_ = 0;
  Change changes_[kMax];
};

}  // namespace memprof::platform
