// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/import_survey.h"

#include <string.h>

#include "core/arena/levels.h"

namespace memprof::platform {
namespace {

uint64_t hash_of(const char* text) {
  uint64_t h = 1469598103934665603ull;
  for (; *text != '\0'; ++text) {
    h = (h ^ static_cast<uint8_t>(*text)) * 1099511628211ull;
  }
  return h | 1;
}

}  // namespace

void ImportSurvey::clear() {
  modules_ = last_initial_ = needed_count_ = 0;
  memset(first_, 0, sizeof(first_));
  memset(executable_plt_, 0, sizeof(executable_plt_));
  memset(needed_, 0, sizeof(needed_));
}

bool ImportSurvey::is_needed(uint64_t hash) const {
  for (uint64_t i = mix_hash(hash);; ++i) {
    const uint64_t found = needed_[i % kNeededSlots];
    if (found == hash || found == 0) {
      return found == hash;
    }
  }
}

// Never more than half full; what does not fit only makes slots uncertain.
void ImportSurvey::note_needed(uint64_t hash) {
  if (needed_count_ == kNeededSlots / 2 || is_needed(hash)) {
    return;
  }
  uint64_t i = mix_hash(hash);
  while (needed_[i % kNeededSlots] != 0) {
    ++i;
  }
  needed_[i % kNeededSlots] = hash;
  ++needed_count_;
}

void ImportSurvey::add(const ImportTable& table) {
  const uint32_t module = modules_++;
  // A library comes after one that needs it; whoever stands before one that was there is initial, too
  // (preloaded).
  if (module == 0 || (table.soname() != nullptr && is_needed(hash_of(table.soname())))) {
    last_initial_ = module;
  }
  if (module == last_initial_) {
    table.each_needed([this](const char* name) { note_needed(hash_of(name)); });
  }
  uint64_t counted = 0;
  for (uint32_t i = 0; i < table.symbol_count(); ++i) {
    const ImportTable::Symbol& symbol = table.symbols()[i];
    if (module == 0 && !symbol.is_defined && symbol.address != 0) {
      executable_plt_[symbol.name] = symbol.address;
    }
    if (!symbol.is_defined || (counted >> symbol.name & 1) != 0) {
      continue;
    }
    counted |= uint64_t{1} << symbol.name;
    Definition& d = first_[symbol.name];
    if (d.definitions++ == 0) {
      const ImportTable::Symbol* best = table.definition(symbol.name);
      d.address = best->address;
      d.module = module;
      d.is_indirect = best->is_indirect;
    }
  }
}

}  // namespace memprof::platform
