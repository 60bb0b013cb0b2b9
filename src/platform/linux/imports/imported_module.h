// SPDX-License-Identifier: Apache-2.0
// What is to be done with each slot of a module.
//
// Model: a slot is patched when it holds the target of its name, or is lazy, not bound yet and would be bound
// to it. The latter is certain where the process has one definition of the name, and for modules that it
// began with; a library that was loaded later may prefer its own dependencies (RTLD_DEEPBIND), which its
// bound slots tell.  A variable that was made with the address of such a function is patched as long as it
// holds that; what the program stores there itself stays.
//
// Threads: the caller keeps the module from being unloaded; others may bind lazy slots meanwhile.
// Allocates: never.
#pragma once

#include <cstdint>

#include "platform/linux/imports/import_table.h"
#include "platform/linux/imports/import_targets.h"

namespace memprof::platform {

enum class Verdict {
  kNothing,  // empty, or of no interest
  kHooked,
  kTarget,  // it holds the function that the hook goes on to, or would be bound to it
  kForeign,
  kUnbound,
  kUnrelocated,  // it holds what is in the file: the module is just being loaded
};

inline uint64_t load_slot(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_RELAXED);
}

inline uint64_t hook_address(uint32_t name) {
  return reinterpret_cast<uint64_t>(interpose::g_hooks[name].hook);
}

class ImportedModule {
 public:
  // `is_initial`: the process began with it.
  ImportedModule(const ImportTable& table, const ImportTargets& targets, bool is_initial);

  // Lets the loader bind `free`, if it is not known how it binds the module's slots: by freeing nothing. Only
  // where a lazy slot holds the address of code that can be called as it is.
  void ask_loader();

  Verdict judge(const ImportTable::Slot& slot, uint64_t value) const;

  // Does the slot lead to the module's own definition of its name, or to the hook that stands in front of that?
  bool calls_itself(const ImportTable::Slot& slot) const;

 private:
  // Would the lazy slots of the module be bound as those of the executable are?
  enum class Binding { kUnknown, kAsExecutable, kOtherwise };

  void infer_binding();
  bool is_unbound(const ImportTable::Slot& slot, uint64_t value) const;
  bool will_be_target(const ImportTable::Slot& slot) const;

  const ImportTable& table_;
  const ImportTargets& targets_;
  Binding binding_;
  const bool is_other_allocator_;  // the allocator, and not the C library
};

}  // namespace memprof::platform
