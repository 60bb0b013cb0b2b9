// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/inner_functions.h"

#include <string.h>

#include "platform/linux/interpose/hook_table.h"
#include "platform/memory.h"

namespace memprof::platform {
namespace {

// A bit for each symbol of a module; none if there is no memory.
class Marks {
 public:
  explicit Marks(uint64_t count)
      : bytes_(count / 8 + sizeof(uint64_t)), words_(static_cast<uint64_t*>(reserve_pages(bytes_))) {}
  ~Marks() {
    if (words_ != nullptr) {
      release_pages(words_, bytes_);
    }
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  void set(uint64_t index) {
    if (words_ != nullptr) {
      words_[index / 64] |= uint64_t{1} << index % 64;
    }
  }
  const uint64_t* words() const { return words_; }

 private:
  const uint64_t bytes_;
  uint64_t* const words_;
};

// A few addresses.
class Addresses {
 public:
  void add(uint64_t address) {
    if (count_ < kMax) {
      all_[count_++] = address;
    }
  }
  bool contains(uint64_t address) const {
    for (uint32_t i = 0; i < count_; ++i) {
      if (all_[i] == address) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr uint32_t kMax = 128;  // there are fewer hooks
  uint32_t count_ = 0;
  uint64_t all_[kMax];
};

bool has_hook(const char* name) {
  for (uint32_t i = 0; i < interpose::g_hook_count; ++i) {
    if (strcmp(interpose::g_hooks[i].name, name) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

void Functions::add_mapping(const FunctionSymbol& symbol) {
  for (uint32_t i = 0; i < mapping_count; ++i) {
    if (mapping[i].code.start == symbol.address) {  // of several tables
      return;
    }
  }
  if (mapping_count < kMaxMappingFunctions) {
    mapping[mapping_count++] = {symbol.name, {symbol.address, symbol.address + symbol.size_bytes}};
  }
}

void Functions::add(const FunctionSymbol& symbol, const AllocatorSignature& signature, uint32_t heap) {
  for (uint32_t i = 0; i < count; ++i) {
    if (all[i].address == symbol.address) {  // one function with several names: that of the fewest arguments
      all[i].is_local = all[i].is_local && symbol.is_local;
      if (signature.call == all[i].signature.call && signature.arguments < all[i].signature.arguments) {
        all[i].name = symbol.name;
        all[i].signature = signature;
      }
      return;
    }
  }
  if (count < kMaxFunctions) {
    all[count++] = {symbol.name, symbol.address, symbol.size_bytes, signature, heap, symbol.is_local};
    low = low == 0 || symbol.address < low ? symbol.address : low;
    high = symbol.address + symbol.size_bytes > high ? symbol.address + symbol.size_bytes : high;
  }
}

// All names are read once; again, those that may be an allocator's: few of the names of C++ and Rust, which most are.
void find_functions(const ModuleSymbols& symbols, bool is_behind_malloc, AllocatorNames* names,
                    Functions* functions) {
  Marks marks(symbols.count());
  Addresses hooked;
  symbols.each_function([&](const FunctionSymbol& f) {
    if (names->note(f.name)) {
      marks.set(f.index);
    }
    if (is_behind_malloc && has_hook(f.name)) {
      hooked.add(f.address);
    }
  });
  if (names->is_excluded()) {
    return;
  }
  const auto match = [&](const FunctionSymbol& f) {
    AllocatorSignature signature;
    const int heap = names->match(f.name, &signature);
    if (heap >= 0) {
      if (!hooked.contains(f.address) || is_asked_only(signature.call)) {
        functions->add(f, signature, static_cast<uint32_t>(heap));
      }
    } else if (AllocatorNames::may_map(f.name)) {
      functions->add_mapping(f);
    }
  };
  symbols.each_function(match, marks.words());
}

}  // namespace memprof::platform
