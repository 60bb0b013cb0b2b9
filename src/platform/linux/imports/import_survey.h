// SPDX-License-Identifier: Apache-2.0
// Who defines the functions that there are hooks for, over all modules of a process.
//
// Model: modules are shown in the loader's order, which begins with the executable and all that it needs,
// breadth first: the order in which names of those are looked up.  So the first definition is what the
// process's modules are bound to.  More than one definition makes an unbound slot of a library that was
// loaded later uncertain: it may prefer its own dependencies (RTLD_DEEPBIND).
//
// Threads: the caller's.
// Allocates: never.
#pragma once

#include <cstdint>

#include "platform/linux/imports/import_table.h"

namespace memprof::platform {

class ImportSurvey {
 public:
  struct Definition {
    uint64_t address;
    uint32_t module;       // its place in the order; 0: the executable
    uint32_t definitions;  // modules that define the name; 0: none
    bool is_indirect;
  };

  void clear();

  // The next module of the order.
  void add(const ImportTable& table);
  // Likewise, one whose definitions do not count.
  void skip() { ++modules_; }

  const Definition& first(uint32_t name) const { return first_[name]; }
  // Was the module there when the process began?  `module`: its place, since the last clear().
  bool is_initial(uint32_t module) const { return module <= last_initial_; }
  uint32_t modules() const { return modules_; }
  // The entry of a name in the executable's PLT, where that is the address of the function for everybody; 0:
  // none.
  uint64_t plt_of_executable(uint32_t name) const { return executable_plt_[name]; }

 private:
  static constexpr uint32_t kNeededSlots = 2048;

  bool is_needed(uint64_t hash) const;
  void note_needed(uint64_t hash);

  Definition first_[WantedNames::kMax] = {};
  uint64_t executable_plt_[WantedNames::kMax] = {};
  uint32_t modules_ = 0;
  uint32_t last_initial_ = 0;
  uint32_t needed_count_ = 0;
  uint64_t needed_[kNeededSlots] = {};  // hashes of what the executable and its libraries need; 0: empty
};

}  // namespace memprof::platform
