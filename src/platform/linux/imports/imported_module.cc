// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/imported_module.h"

#include <string.h>
#include <sys/auxv.h>

#include "cpu/facts.h"

namespace memprof::platform {
namespace {

using interpose::g_hooks;
using interpose::HookKind;

// musl's has no name everywhere.
bool is_c_library(const ImportTable& table) {
  if (table.contains(reinterpret_cast<uint64_t>(&getauxval))) {
    return true;
  }
  const char* name = table.soname();
  return name != nullptr && (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc.musl", 9) == 0);
}

}  // namespace

ImportedModule::ImportedModule(const ImportTable& table, const ImportTargets& targets, bool is_initial)
    : table_(table),
      targets_(targets),
      binding_(is_initial ? Binding::kAsExecutable : Binding::kUnknown),
      is_other_allocator_(targets.is_allocator(table) && !is_c_library(table)) {
  if (!is_initial) {
    infer_binding();
  }
}

void ImportedModule::ask_loader() {
  if (!cpu::kCallsUnboundSlots || binding_ != Binding::kUnknown ||
      targets_.survey().first(interpose::kFreeHook).definitions < 2) {
    return;
  }
  table_.each_slot([this](const ImportTable::Slot& slot) {
    const uint64_t value = load_slot(slot.address);
    if (slot.name == interpose::kFreeHook && binding_ == Binding::kUnknown && is_unbound(slot, value)) {
      reinterpret_cast<void (*)(void*)>(value)(nullptr);
      infer_binding();
    }
  });
}

Verdict ImportedModule::judge(const ImportTable::Slot& slot, uint64_t value) const {
  const uint64_t target = targets_.target(slot.name);
  if (slot.is_variable && value != target && value != hook_address(slot.name)) {
    return Verdict::kNothing;  // the program has stored something else, or nothing yet
  }
  if (value == 0) {  // a weak import of what nobody defines, or
    return target == 0 ? Verdict::kNothing : Verdict::kUnrelocated;
  }
  if (value == hook_address(slot.name)) {
    return Verdict::kHooked;
  }
  // An allocator's own calls are no allocations of the program; the C library's own are.
  const HookKind kind = g_hooks[slot.name].kind;
  if (is_other_allocator_ && (kind == HookKind::kMemory || kind == HookKind::kOperator)) {
    return Verdict::kNothing;
  }
  if (value == target) {
    return Verdict::kTarget;
  }
  // Operators that are not hooked end in malloc, where they are seen; loaders that are not the process's do
  // not matter.
  const Verdict otherwise = kind == HookKind::kMemory ? Verdict::kForeign : Verdict::kNothing;
  if (is_unbound(slot, value)) {
    if (target == 0 || (kind != HookKind::kMemory && !will_be_target(slot))) {
      return Verdict::kNothing;
    }
    return will_be_target(slot)              ? Verdict::kTarget
           : binding_ == Binding::kOtherwise ? Verdict::kForeign
                                             : Verdict::kUnbound;
  }
  if (table_.is_unrelocated(value)) {
    return Verdict::kUnrelocated;
  }
  // Where an executable at a fixed address takes the address of a function, everybody's address of it is that
  // of an entry in the executable's PLT, whose own slot is patched.
  return value == targets_.survey().plt_of_executable(slot.name) ? Verdict::kNothing : otherwise;
}

bool ImportedModule::calls_itself(const ImportTable::Slot& slot) const {
  const uint64_t value = load_slot(slot.address);
  const ImportTable::Symbol* const own = table_.definition(slot.name);
  if (own == nullptr || value == own->address || value == hook_address(slot.name)) {
    return own != nullptr;
  }
  return is_unbound(slot, value) && targets_.survey().first(slot.name).address == own->address &&
         will_be_target(slot);
}

// Slots that are bound tell of the others; not variables, which the program may have set.
void ImportedModule::infer_binding() {
  table_.each_slot([this](const ImportTable::Slot& slot) {
    if (slot.is_variable || targets_.target(slot.name) == 0 ||
        targets_.survey().first(slot.name).definitions < 2) {
      return;
    }
    const uint64_t value = load_slot(slot.address);
    if (value == targets_.target(slot.name) || value == hook_address(slot.name)) {
      binding_ = binding_ == Binding::kOtherwise ? binding_ : Binding::kAsExecutable;
    } else if (value != 0 && !is_unbound(slot, value)) {
      binding_ = Binding::kOtherwise;
    }
  });
}

// It still holds an address in the module's own PLT.
bool ImportedModule::is_unbound(const ImportTable::Slot& slot, uint64_t value) const {
  if (!slot.is_lazy || !table_.has_code_at(value)) {
    return false;
  }
  for (uint32_t i = 0; i < table_.symbol_count(); ++i) {
    const ImportTable::Symbol& s = table_.symbols()[i];
    if (s.name == slot.name && s.is_defined && s.address == value) {
      return false;
    }
  }
  return true;
}

bool ImportedModule::will_be_target(const ImportTable::Slot& slot) const {
  return targets_.survey().first(slot.name).definitions == 1 || binding_ == Binding::kAsExecutable;
}

}  // namespace memprof::platform
