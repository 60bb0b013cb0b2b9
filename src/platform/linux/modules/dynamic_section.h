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

  static constexpr uint32_t gnu_hash_of(const char* name) {
    uint32_t h = 5381;
    for (; *name != '\0'; ++name) {
      h = h * 33 + static_cast<uint8_t>(*name);
    }
    return h;
  }

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
    each_hashed(hashed_.buckets != 0 ? gnu_hash_of(name) : 0, visit);
  }
  // The same of a hash that the caller keeps, who asks many modules.
  template <typename Visit>
  void each_hashed(uint32_t h, const Visit& visit) const {
    if (hashed_.buckets == 0) {
      return;
    }
    const uint64_t word = word_at<uint64_t>(hashed_.filter, h / 64 % hashed_.words);
    if ((word >> h % 64 & word >> (h >> hashed_.shift) % 64 & 1) == 0) {
      return;
    }
    const auto index = word_at<uint32_t>(hashed_.filter + uint64_t{hashed_.words} * 8, h % hashed_.buckets);
    const uint64_t chains = hashed_.filter + uint64_t{hashed_.words} * 8 + uint64_t{hashed_.buckets} * 4;
    uint32_t hash = 0;
    for (uint64_t i = index; i >= hashed_.first && read(chains + (i - hashed_.first) * 4, &hash); ++i) {
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
  // What gnu_hash() begins with, for who looks for many names: its filter and its buckets are in the module.
  struct Hashed {
    uint32_t buckets = 0;  // 0: there is no table
    uint32_t first = 0;    // index of the first symbol in it
    uint32_t words = 0;    // of the Bloom filter
    uint32_t shift = 0;    // of the filter
    uint64_t filter = 0;
  };

  template <typename T>
  static T word_at(uint64_t address, uint64_t index) {
    T word;
    memcpy(&word, reinterpret_cast<const void*>(address + index * sizeof(T)), sizeof(T));
    return word;
  }
  void read_hash_header();
  void read_entries(const ElfW(Dyn) * entries);
  uint64_t to_address(uint64_t pointer) const;
  Relocations to_relocations(uint64_t start, uint64_t size_bytes, uint64_t skipped) const;

  const dl_phdr_info& module_;
  const ElfW(Dyn) * entries_ = nullptr;
  uint64_t symbols_ = 0;
  uint64_t gnu_hash_ = 0;
  Hashed hashed_;
  uint64_t hash_ = 0;
  uint64_t versions_ = 0;
  const char* strings_ = nullptr;
  uint64_t strings_bytes_ = 0;
  const char* soname_ = nullptr;
  Relocations relocations_[2] = {};
};

}  // namespace memprof::platform
