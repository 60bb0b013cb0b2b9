// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/import_targets.h"

#include <dlfcn.h>
#include <string.h>

#include "core/mappings/mappings.h"
#include "platform/linux/imports/imported_module.h"
#include "platform/linux/interpose/frame_tables.h"
#include "platform/linux/interpose/operators/operator_forms.h"
#include "platform/linux/modules/standard_library.h"

namespace memprof::platform {
namespace {

using interpose::g_hook_count;
using interpose::g_hooks;
using interpose::HookEntry;
using interpose::HookKind;

// The functions that are chosen at run time (STT_GNU_IFUNC) are asked of the loader; not while it is held.
uint64_t find_indirect(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  void* found = handle != nullptr ? dlsym(handle, name) : nullptr;
  if (handle != nullptr) {
    dlclose(handle);
  }
  return reinterpret_cast<uint64_t>(found);
}

// kForms: the hook is none of an operator.
uint32_t form_of(uint32_t hook) {
  return g_hooks[hook].kind == HookKind::kOperator ? interpose::operator_form(g_hooks[hook].name)
                                                   : static_cast<uint32_t>(interpose::kForms);
}

}  // namespace

bool is_this_library(const ImportTable& table, uint32_t place) {
  return place != 0 && table.contains(reinterpret_cast<uint64_t>(&is_this_library));
}

bool ImportTargets::choose(ImportTables& tables) {
  char allocator_path[4096] = "";
  hold_modules([&](const dl_phdr_info&) {
    survey_all(tables);
    each_module([&](const dl_phdr_info& info) {
      if (!is_in_module(info, survey_.first(interpose::kMallocHook).address)) {
        return false;
      }
      if (strlen(info.dlpi_name) < sizeof(allocator_path)) {
        memcpy(allocator_path, info.dlpi_name, strlen(info.dlpi_name) + 1);
      }
      return true;
    });
  });
  const ImportSurvey::Definition malloc = survey_.first(interpose::kMallocHook);
  if (malloc.definitions == 0 || malloc.module == 0 ||
      survey_.first(interpose::kFreeHook).module != malloc.module) {
    return false;
  }
  allocator_ = malloc.address;
  has_operators_ = survey_.first(interpose::kNewHook).definitions != 0 &&
                   survey_.first(interpose::kNewHook).module == malloc.module;
  interpose::Forwards forwards{};
  for (uint32_t i = 0; i < g_hook_count; ++i) {
    const HookEntry& h = g_hooks[i];
    const ImportSurvey::Definition& d = survey_.first(i);
    const bool is_wanted = h.kind == HookKind::kLoader ||
                           (h.kind == HookKind::kMapping && mappings::is_on()) ||
                           (h.kind == HookKind::kMemory && d.module == malloc.module) ||
                           (h.kind == HookKind::kOperator && has_operators_ && d.module == malloc.module);
    // The aligned operators go on to it also where the allocator lacks it: without us, too, the program's
    // operators get their blocks from whoever has it.
    constexpr size_t kPosixMemalign = offsetof(interpose::Forwards, real.posix_memalign);
    if (d.definitions != 0 && !is_wanted && h.forward == kPosixMemalign && !d.is_indirect) {
      memcpy(reinterpret_cast<char*>(&forwards) + h.forward, &d.address, sizeof(d.address));
    }
    if (d.definitions == 0 || !is_wanted || h.kind == HookKind::kFrames) {
      continue;
    }
    target_[i] = d.is_indirect ? find_indirect(allocator_path, h.name) : d.address;
    if (h.forward != interpose::kNoForward) {
      memcpy(reinterpret_cast<char*>(&forwards) + h.forward, &target_[i], sizeof(target_[i]));
    }
  }
  forwards.foreign.present = has_operators_;
  // The aligned operators of an allocator are its posix_memalign with a new-handler: ours are, too.
  for (int array = 0; array < 2; ++array) {
    forwards.foreign.new_aligned[array] = nullptr;
    forwards.foreign.new_aligned_nothrow[array] = nullptr;
  }
  for (int array = 0; array < 2; ++array) {
    forwards.foreign.sampled_plain[array] = forwards.foreign.sampled_nothrow[array] = true;
  }
  interpose::set_forwards(forwards);
  return true;
}

void ImportTargets::survey_all(ImportTables& tables) {
  survey_.clear();
  surveyed_.clear();
  each_module([this](const dl_phdr_info& info) {
    adds_ = info.dlpi_adds;
    subs_ = info.dlpi_subs;
    return true;
  });
  survey_new(tables);
}

void ImportTargets::survey_changes(ImportTables& tables, uint64_t adds, uint64_t subs) {
  if (subs != subs_) {
    survey_all(tables);
  } else if (adds != adds_) {
    adds_ = adds;
    survey_new(tables);
  } else {
    choose_operators(tables);
  }
}

void ImportTargets::survey_new(ImportTables& tables) {
  each_module([&](const dl_phdr_info& info) {
    if (surveyed_.contains(info)) {
      return false;
    }
    surveyed_.add(info);
    const ImportTable& table = tables.of(info);
    if (is_this_library(table, survey_.modules())) {
      survey_.skip();
    } else {
      survey_.add(table);
    }
    return false;
  });
  choose_operators(tables);
  choose_frame_calls();
}

// libgcc can come later than the allocator, and go again.
void ImportTargets::choose_frame_calls() {
  for (uint32_t i = 0; i < g_hook_count; ++i) {
    const ImportSurvey::Definition& d = survey_.first(i);
    if (g_hooks[i].kind == HookKind::kFrames && (d.definitions == 0 || !d.is_indirect)) {
      target_[i] = d.definitions != 0 ? d.address : 0;
      interpose::set_frame_call(static_cast<uint32_t>(g_hooks[i].forward), target_[i]);
    }
  }
}

// The standard library's operators are malloc and free with a handler of failures: ours take their place if
// its malloc and free are those that ours go on to, and if those that it calls itself are its own.
void ImportTargets::choose_operators(ImportTables& tables) {
  if (allocator_ == 0 || has_operators_) {
    return;
  }
  const ImportSurvey::Definition& first = survey_.first(interpose::kNewHook);
  bool is_standard = false;
  interpose::FormSet own = 0;
  each_module([&](const dl_phdr_info& info) {
    if (first.definitions == 0 || !is_in_module(info, first.address)) {
      return false;
    }
    const ImportTable& table = tables.of(info);
    is_standard = is_standard_library(table.soname());
    for (uint32_t i = 0; i < g_hook_count; ++i) {
      const uint32_t form = form_of(i);
      own |= form != interpose::kForms && survey_.first(i).definitions != 0 &&
                     survey_.first(i).module == first.module && !survey_.first(i).is_indirect
                 ? set_of(static_cast<interpose::Form>(form))
                 : 0;
    }
    const ImportedModule module(table, *this, survey_.is_initial(first.module));
    table.each_slot([&](const ImportTable::Slot& slot) {
      if (slot.name == interpose::kMallocHook || slot.name == interpose::kFreeHook) {
        const Verdict verdict = module.judge(slot, load_slot(slot.address));
        is_standard = is_standard && (verdict == Verdict::kHooked || verdict == Verdict::kTarget);
      } else if (form_of(slot.name) != interpose::kForms && !module.calls_itself(slot)) {
        own &= ~set_of(static_cast<interpose::Form>(form_of(slot.name)));
      }
    });
    return true;
  });
  for (uint32_t i = 0; i < g_hook_count; ++i) {
    const uint32_t form = form_of(i);
    if (form != interpose::kForms) {
      const interpose::FormSet all =
          interpose::kOperatorForms[form].calls | set_of(static_cast<interpose::Form>(form));
      target_[i] = is_standard && (all & ~own) == 0 ? survey_.first(i).address : 0;
    }
  }
}

}  // namespace memprof::platform
