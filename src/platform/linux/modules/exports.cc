// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/modules/exports.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include "platform/linux/modules/elf_image.h"
#include "platform/modules.h"

namespace memprof::platform {
namespace {

uint32_t hash_of(const char* name) {
  uint32_t h = 0;
  for (; *name != '\0'; ++name) {
    h = (h << 4) + static_cast<uint8_t>(*name);
    h = (h ^ ((h & 0xf0000000u) >> 24)) & 0x0fffffffu;
  }
  return h;
}

// Those of `table`; false: it does not have the first one.
bool find_all(const ExportTable& table, const char* const* names, uint32_t count, const void** addresses,
              bool* are_data) {
  if (table.find(names[0]) == nullptr) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    addresses[i] = table.find(names[i], &are_data[i]);
  }
  return true;
}

constexpr uint32_t kMaxNames = 64;

}  // namespace

const void* ExportTable::symbol(uint64_t index, const char* name, bool* is_data) const {
  ElfW(Sym) symbol;
  if (!section_.read(section_.symbols() + index * sizeof(symbol), &symbol) || symbol.st_shndx == SHN_UNDEF ||
      symbol.st_shndx == SHN_ABS || symbol.st_value == 0) {
    return nullptr;
  }
  const char* own = section_.string(symbol.st_name);
  if (own == nullptr || strcmp(own, name) != 0) {
    return nullptr;
  }
  const uint32_t type = ELF64_ST_TYPE(symbol.st_info);
  if (type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE) {
    return nullptr;
  }
  const uint64_t address = module_.dlpi_addr + symbol.st_value;
  if (!is_in_module(module_, address)) {
    return nullptr;
  }
  if (is_data != nullptr) {
    *is_data = type == STT_OBJECT;
  }
  return reinterpret_cast<const void*>(address);
}

const void* ExportTable::find_by_gnu_hash(const char* name, bool* is_data) const {
  const void* found = nullptr;
  section_.each_hashed(name, [&](uint64_t index) {
    found = symbol(index, name, is_data);
    return found != nullptr;
  });
  return found;
}

const void* ExportTable::find_by_hash(const char* name, bool* is_data) const {
  uint32_t header[2];  // buckets, symbols
  if (!section_.read(section_.hash(), &header) || header[0] == 0) {
    return nullptr;
  }
  const uint64_t chains = section_.hash() + sizeof(header) + uint64_t{header[0]} * 4;
  uint32_t index = 0;
  if (!section_.read(section_.hash() + sizeof(header) + uint64_t{hash_of(name) % header[0]} * 4, &index)) {
    return nullptr;
  }
  // As many steps as there are symbols: the chain of a damaged table may go round.
  for (uint32_t i = 0; i < header[1] && index != 0; ++i) {
    if (const void* found = symbol(index, name, is_data)) {
      return found;
    }
    if (!section_.read(chains + uint64_t{index} * 4, &index)) {
      return nullptr;
    }
  }
  return nullptr;
}

const void* ExportTable::find(const char* name, bool* is_data) const {
  return !section_.is_readable()    ? nullptr
         : section_.gnu_hash() != 0 ? find_by_gnu_hash(name, is_data)
         : section_.hash() != 0     ? find_by_hash(name, is_data)
                                    : nullptr;
}

namespace {

bool headers_of(uint64_t address, dl_phdr_info* module) {
  ElfImage elf;
  if (!find_elf(address, &elf) || elf.headers == nullptr) {
    return false;
  }
  *module = {};
  module->dlpi_addr = elf.bias;
  module->dlpi_phdr = elf.headers;
  module->dlpi_phnum = static_cast<ElfW(Half)>(elf.header_count);
  return true;
}

// Of variables that the executable uses directly it has the copy that all modules use (a copy relocation).
void take_copies(const char* const* names, uint32_t count, const bool* are_data, const void** addresses) {
  dl_phdr_info executable;
  if (!headers_of(getauxval(AT_ENTRY), &executable)) {
    return;
  }
  const ExportTable table(executable);
  if (table.find(names[0]) != nullptr) {
    return;  // it is that module, or has all of its own
  }
  for (uint32_t i = 0; i < count; ++i) {
    const void* copy = are_data[i] && addresses[i] != nullptr ? table.find(names[i]) : nullptr;
    addresses[i] = copy != nullptr ? copy : addresses[i];
  }
}

}  // namespace

bool find_exports_at(uint64_t address, const char* const* names, uint32_t count, const void** addresses) {
  dl_phdr_info module;
  bool are_data[kMaxNames] = {};
  if (count == 0 || count > kMaxNames || !headers_of(address, &module) ||
      !find_all(ExportTable(module), names, count, addresses, are_data)) {
    return false;
  }
  take_copies(names, count, are_data, addresses);
  return true;
}

bool find_exports(const char* const* names, uint32_t count, const void** addresses) {
  if (count == 0 || count > kMaxNames) {
    return false;
  }
  struct Search {
    const char* const* names;
    uint32_t count;
    const void** addresses;
    bool are_data[kMaxNames];
  } search{names, count, addresses, {}};
  const auto look = [](dl_phdr_info* info, size_t, void* data) {
    Search& s = *static_cast<Search*>(data);
    return find_all(ExportTable(*info), s.names, s.count, s.addresses, s.are_data) ? 1 : 0;
  };
  if (dl_iterate_phdr(look, &search) == 0) {
    return false;
  }
  take_copies(names, count, search.are_data, addresses);
  return true;
}

}  // namespace memprof::platform
