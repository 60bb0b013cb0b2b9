// SPDX-License-Identifier: Apache-2.0
// The dynamic section of a loaded module: where its symbols, their names and hash tables, and its relocations
// are.
//
// Model: addresses in this process, each inside of the module's readable segments; 0: not there, or not to be
// believed.
//
// Threads, signals: any; the caller keeps the module from being unloaded (it runs in it, or is in the
// loader's callback).
// Allocates: never.
// Failure: a section without end, or whose names do not end, counts as absent.
#pragma once

#include <link.h>
#include <string.h>

#include <cstdint>

namespace memprof::platform {

// Is [address, address + size_bytes) in a readable segment of a module?
bool is_in_module(const dl_phdr_info& module, uint64_t address, uint64_t size_bytes = 1);

class DynamicSection {
 public:
  struct Relocations {
    uint64_t start;
    uint64_t count;
  };

  explicit DynamicSection(const dl_phdr_info& module);

  // false: nothing here is set.
  bool is_readable() const { return symbols_ != 0; }

  uint64_t symbols() const { return symbols_; }
  uint64_t gnu_hash() const { return gnu_hash_; }
  uint64_t hash() const { return hash_; }
  uint64_t versions() const { return versions_; }
  const char* strings() const { return strings_; }
  // The string at this offset; nullptr: it is not in the table.
  const char* string(uint64_t offset) const { return offset < strings_bytes_ ? strings_ + offset : nullptr; }
  const char* soname() const { return soname_; }
  // .rela.dyn without the relative ones in front, .rela.plt.
  const Relocations (&relocations() const)[2] { return relocations_; }

  // Calls visit(name) for each library that the module needs (DT_NEEDED).
  template <typename Visit>
  void each_needed(const Visit& visit) const {
    for (const ElfW(Dyn)* d = entries_; d != nullptr && d->d_tag != DT_NULL; ++d) {
      if (const char* name = d->d_tag == DT_NEEDED ? string(d->d_un.d_val) : nullptr) {
        visit(name);
      }
    }
  }

  // Calls visit(index) for each symbol of gnu_hash() whose hash is the name's, until it returns true.
  template <typename Visit>
  void each_hashed(const char* name, const Visit& visit) const {
    uint32_t header[4];  // buckets, index of the first symbol, words of the Bloom filter, its shift
    const uint32_t h = gnu_hash_of(name);
    uint64_t word = 0;
    if (!read(gnu_hash_, &header) || header[0] == 0 || header[2] == 0 || header[3] >= 32 ||
        !read(gnu_hash_ + sizeof(header) + uint64_t{h / 64 % header[2]} * 8, &word) ||
        (word >> h % 64 & word >> (h >> header[3]) % 64 & 1) == 0) {
      return;
    }
    const uint64_t buckets = gnu_hash_ + sizeof(header) + uint64_t{header[2]} * 8;
    const uint64_t chains = buckets + uint64_t{header[0]} * 4;
    uint32_t index = 0;
    if (!read(buckets + uint64_t{h % header[0]} * 4, &index)) {
      return;
    }
    uint32_t hash = 0;
    for (uint64_t i = index; i >= header[1] && read(chains + (i - header[1]) * 4, &hash); ++i) {
      if (((hash | 1) == (h | 1) && visit(i)) || (hash & 1) != 0) {
        return;
      }
    }
  }

  // false: it is not in the module.
  template <typename T>
  bool read(uint64_t address, T* value) const {
    if (!is_in_module(module_, address, sizeof(T))) {
      return false;
    }
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): it is in the module
    memcpy(value, reinterpret_cast<const void*>(address), sizeof(T));
    return true;
  }

 private:
  static uint32_t gnu_hash_of(const char* name);
  void read_entries(const ElfW(Dyn) * entries);
  uint64_t to_address(uint64_t pointer) const;
  Relocations to_relocations(uint64_t start, uint64_t size_bytes, uint64_t skipped) const;

  const dl_phdr_info& module_;
  const ElfW(Dyn) * entries_ = nullptr;
  uint64_t symbols_ = 0;
  uint64_t gnu_hash_ = 0;
  uint64_t hash_ = 0;
  uint64_t versions_ = 0;
  const char* strings_ = nullptr;
  uint64_t strings_bytes_ = 0;
  const char* soname_ = nullptr;
  Relocations relocations_[2] = {};
};

}  // namespace memprof::platform
