// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/import_patch.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <atomic>

#include "core/profiler.h"
#include "core/sampler.h"
#include "platform/linux/import_survey.h"
#include "platform/linux/import_table.h"
#include "platform/linux/interpose/hook_table.h"
#include "platform/linux/seen_modules.h"
#include "platform/linux/slot_writer.h"
#include "platform/linux/text_sink.h"

namespace memprof::platform {
namespace {

using interpose::g_hook_count;
using interpose::g_hooks;
using interpose::HookEntry;
using interpose::HookKind;

constexpr int kMostYields = 20000;  // some 100 ms, or more where others run

struct HookNames {
  HookNames() {
    for (uint32_t i = 0; i < g_hook_count; ++i) {
      names[i] = g_hooks[i].name;
    }
  }
  const char* names[WantedNames::kMost];
  WantedNames wanted{names, g_hook_count};
};

// What a pass counts of the modules that it looks at.
struct Counts {
  uint64_t modules, patched, refused, foreign, unbound;
  void add(const Counts& c) {
    modules += c.modules;
    patched += c.patched;
    refused += c.refused;
    foreign += c.foreign;
    unbound += c.unbound;
  }
};

// One pass at a time touches what follows, but for the atomics.
std::atomic<bool> g_busy{false};        // acquire and release
std::atomic<bool> g_is_patched{false};  // acquire and release: the targets are chosen
std::atomic<uint64_t> g_counts[5];      // relaxed, one by one
uint64_t g_target[WantedNames::kMost];  // what a slot must lead to; 0: slots of this name stay
uint64_t g_allocator;                   // an address in the module that serves the process's allocations
bool g_has_foreign_operators;           // the allocator's own
ImportSurvey g_survey;
SeenModules g_seen;
Counts g_seen_counts;
uint64_t g_adds;
uint64_t g_subs;

bool try_enter() {
  return !g_busy.exchange(true, std::memory_order_acquire);
}

bool enter() {
  for (int i = 0; !try_enter(); ++i) {
    if (i == kMostYields) {
      return false;
    }
    yield_thread();
  }
  return true;
}

void leave() {
  g_busy.store(false, std::memory_order_release);
}

// A child has only the thread that forked.  If it took longer (the thread forks in a callback of the loader
// that the pass waits for), the child goes without.
thread_local bool t_entered_for_fork __attribute__((tls_model("initial-exec"))) = false;

void before_fork() {
  t_entered_for_fork = enter();
}
void after_fork() {
  if (t_entered_for_fork) {
    leave();
  }
}

// ---- Modules

// visit(info) for each module, in the loader's callback; true ends it.
template <typename Visit>
void each_module(const Visit& visit) {
  dl_iterate_phdr([](dl_phdr_info* info, size_t,
                     void* context) { return (*static_cast<const Visit*>(context))(*info) ? 1 : 0; },
                  const_cast<Visit*>(&visit));
}

// The same list for several rounds: the loader's lock is one that its holder may take again.
template <typename Visit>
void hold_modules(const Visit& visit) {
  each_module([&](const dl_phdr_info& first) {
    visit(first);
    return true;
  });
}

bool is_this_library(const ImportTable& table) {
  return table.contains(reinterpret_cast<uint64_t>(&g_busy));
}

bool is_c_library(const ImportTable& table) {
  const char* name = table.soname();
  return name != nullptr && (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc.musl", 9) == 0);
}

bool is_standard_library(const ImportTable& table) {
  const char* name = table.soname();
  return name != nullptr && (strncmp(name, "libstdc++.", 10) == 0 || strncmp(name, "libc++", 6) == 0);
}

uint64_t load(uint64_t slot) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(slot), __ATOMIC_RELAXED);
}

uint64_t hook_address(uint32_t name) {
  return reinterpret_cast<uint64_t>(g_hooks[name].hook);
}

// ---- A slot

enum class Verdict {
  kNothing,  // empty, or of no interest
  kHooked,
  kTarget,  // it holds the function that the hook goes on to, or would be bound to it
  kForeign,
  kUnbound,
};

// Would the lazy slots of the module be bound as those of the executable are?
enum class Binding { kUnknown, kAsExecutable, kOtherwise };

class Module {
 public:
  Module(const ImportTable& table, bool is_initial)
      : table_(table),
        binding_(is_initial ? Binding::kAsExecutable : Binding::kUnknown),
        is_allocator_(table.contains(g_allocator)) {
    if (!is_initial) {
      infer_binding();
    }
  }

  // Lets the loader bind `free`, if it is not known how it binds the module's slots: by freeing nothing. Only
  // where a lazy slot holds the address of code that can be called as it is.
  void ask_loader() {
#if defined(__x86_64__)
    if (binding_ != Binding::kUnknown || g_survey.first(interpose::kFreeHook).definitions < 2) {
      return;
    }
    table_.each_slot([this](const ImportTable::Slot& slot) {
      const uint64_t value = load(slot.address);
      if (slot.name == interpose::kFreeHook && binding_ == Binding::kUnknown && is_unbound(slot, value)) {
        reinterpret_cast<void (*)(void*)>(value)(nullptr);
        infer_binding();
      }
    });
#endif
  }

  Verdict judge(const ImportTable::Slot& slot, uint64_t value) const {
    const uint64_t target = g_target[slot.name];
    if (value == 0) {
      return Verdict::kNothing;
    }
    if (value == hook_address(slot.name)) {
      return Verdict::kHooked;
    }
    // An allocator's own calls are no allocations of the program; the C library's own are.
    const HookKind kind = g_hooks[slot.name].kind;
    if (is_allocator_ && !is_c_library(table_) && kind != HookKind::kLoader) {
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
    return leads_through_executable(slot.name, value) ? Verdict::kNothing : otherwise;
  }

 private:
  // Slots that are bound tell of the others.
  void infer_binding() {
    table_.each_slot([this](const ImportTable::Slot& slot) {
      if (g_target[slot.name] == 0 || g_survey.first(slot.name).definitions < 2) {
        return;
      }
      const uint64_t value = load(slot.address);
      if (value == g_target[slot.name] || value == hook_address(slot.name)) {
        binding_ = binding_ == Binding::kOtherwise ? binding_ : Binding::kAsExecutable;
      } else if (value != 0 && !is_unbound(slot, value)) {
        binding_ = Binding::kOtherwise;
      }
    });
  }

  // It still holds an address in the module's own PLT.
  bool is_unbound(const ImportTable::Slot& slot, uint64_t value) const {
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

  bool will_be_target(const ImportTable::Slot& slot) const {
    return g_survey.first(slot.name).definitions == 1 || binding_ == Binding::kAsExecutable;
  }

  // Where an executable at a fixed address takes the address of a function, everybody's address of it is that
  // of an entry in the executable's PLT, whose own slot is patched.
  static bool leads_through_executable(uint32_t name, uint64_t value) {
    return value == g_survey.plt_of_executable(name);
  }

  const ImportTable& table_;
  Binding binding_;
  const bool is_allocator_;
};

// ---- The functions that the hooks go on to

// The functions that are chosen at run time (STT_GNU_IFUNC) are asked of the loader; not while it is held.
uint64_t find_indirect(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  void* found = handle != nullptr ? dlsym(handle, name) : nullptr;
  if (handle != nullptr) {
    dlclose(handle);
  }
  return reinterpret_cast<uint64_t>(found);
}

void survey_all(const HookNames& names) {
  g_survey.clear();
  each_module([&](const dl_phdr_info& info) {
    const ImportTable table(info, names.wanted);
    if (is_this_library(table) && g_survey.modules() != 0) {
      g_survey.skip();
    } else {
      g_survey.add(table);
    }
    return false;
  });
}

// Whose is malloc?  false: nobody's whose calls can be seen.
bool choose_targets(const HookNames& names) {
  char allocator_path[4096] = "";
  hold_modules([&](const dl_phdr_info&) {
    survey_all(names);
    each_module([&](const dl_phdr_info& info) {
      const ImportTable table(info, names.wanted);
      if (!table.contains(g_survey.first(interpose::kMallocHook).address)) {
        return false;
      }
      if (strlen(info.dlpi_name) < sizeof(allocator_path)) {
        memcpy(allocator_path, info.dlpi_name, strlen(info.dlpi_name) + 1);
      }
      return true;
    });
  });
  const ImportSurvey::Definition& malloc = g_survey.first(interpose::kMallocHook);
  if (malloc.definitions == 0 || malloc.module == 0 ||
      g_survey.first(interpose::kFreeHook).module != malloc.module) {
    return false;
  }
  g_allocator = malloc.address;
  g_has_foreign_operators = g_survey.first(interpose::kNewHook).definitions != 0 &&
                            g_survey.first(interpose::kNewHook).module == malloc.module;
  interpose::Forwards forwards{};
  for (uint32_t i = 0; i < g_hook_count; ++i) {
    const HookEntry& h = g_hooks[i];
    const ImportSurvey::Definition& d = g_survey.first(i);
    const bool is_wanted =
        h.kind == HookKind::kLoader || (h.kind == HookKind::kMemory && d.module == malloc.module) ||
        (h.kind == HookKind::kOperator && g_has_foreign_operators && d.module == malloc.module);
    if (d.definitions == 0 || !is_wanted) {
      continue;
    }
    g_target[i] = d.is_indirect ? find_indirect(allocator_path, h.name) : d.address;
    if (h.forward != interpose::kNoForward) {
      memcpy(reinterpret_cast<char*>(&forwards) + h.forward, &g_target[i], sizeof(g_target[i]));
    }
  }
  forwards.foreign.present = forwards.foreign.of_allocator = g_has_foreign_operators;
  for (int array = 0; array < 2; ++array) {
    forwards.foreign.sampled_plain[array] = forwards.foreign.sampled_nothrow[array] = true;
  }
  interpose::set_forwards(forwards);
  return true;
}

// The standard library's operators are malloc and free with a handler of failures: ours take their place if
// its malloc and free are those that ours go on to.
void choose_operators(const HookNames& names) {
  if (g_has_foreign_operators) {
    return;
  }
  const ImportSurvey::Definition& first = g_survey.first(interpose::kNewHook);
  bool is_standard = false;
  each_module([&](const dl_phdr_info& info) {
    const ImportTable table(info, names.wanted);
    if (first.definitions == 0 || !table.contains(first.address)) {
      return false;
    }
    is_standard = is_standard_library(table);
    const Module module(table, g_survey.is_initial(first.module));
    table.each_slot([&](const ImportTable::Slot& slot) {
      if (slot.name == interpose::kMallocHook || slot.name == interpose::kFreeHook) {
        const Verdict verdict = module.judge(slot, load(slot.address));
        is_standard = is_standard && (verdict == Verdict::kHooked || verdict == Verdict::kTarget);
      }
    });
    return true;
  });
  for (uint32_t i = 0; i < g_hook_count; ++i) {
    if (g_hooks[i].kind == HookKind::kOperator) {
      const ImportSurvey::Definition& d = g_survey.first(i);
      g_target[i] =
          is_standard && d.definitions != 0 && d.module == first.module && !d.is_indirect ? d.address : 0;
    }
  }
}

// ---- A pass

// true: nothing is left to do in this module.
bool patch_module(const ImportTable& table, bool is_initial, SlotWriter& writer, Counts* counts,
                  bool* bound_lazy) {
  Module module(table, is_initial);
  module.ask_loader();
  Counts c{};
  bool is_done = true;
  table.each_slot([&](const ImportTable::Slot& slot) {
    const uint64_t value = load(slot.address);
    const bool counted = g_hooks[slot.name].kind != HookKind::kLoader;
    switch (module.judge(slot, value)) {
      case Verdict::kNothing:
        break;
      case Verdict::kHooked:
        c.patched += counted;
        break;
      case Verdict::kForeign:
        ++c.foreign;
        break;
      case Verdict::kUnbound:
        ++c.unbound;
        is_done = false;
        break;
      case Verdict::kTarget:
        switch (writer.write(slot.address, value, hook_address(slot.name), slot.in_relro)) {
          case Written::kYes:
            c.patched += counted;
            *bound_lazy = *bound_lazy || value != g_target[slot.name];
            break;
          case Written::kRefused:
            c.refused += counted;
            break;
          case Written::kChanged:
          case Written::kNotReady:
            c.unbound += counted;
            is_done = false;
            break;
        }
        break;
    }
  });
  writer.finish();
  c.modules = c.patched + c.refused + c.foreign + c.unbound != 0;
  counts->add(c);
  return is_done;
}

void publish(const Counts& c) {
  const uint64_t values[] = {c.modules, c.patched, c.refused, c.foreign, c.unbound};
  for (size_t i = 0; i < 5; ++i) {
    g_counts[i].store(values[i], std::memory_order_relaxed);
  }
  profiler::note_imports();
}

// Looks at all modules, or at those that were not seen.  true: a slot was taken that was not bound yet; a
// thread that was just binding it may have written it since.
bool pass(const HookNames& names, bool all) {
  bool bound_lazy = false;
  SlotWriter writer;
  hold_modules([&](const dl_phdr_info& first) {
    if (all || first.dlpi_subs != g_subs) {
      all = true;
      g_seen.clear();
      g_seen_counts = {};
      survey_all(names);
    } else {
      each_module([&](const dl_phdr_info& info) {
        if (!g_seen.contains(info)) {
          const ImportTable table(info, names.wanted);
          if (!is_this_library(table)) {
            g_survey.add(table);
          }
        }
        return false;
      });
    }
    choose_operators(names);
    Counts unfinished{};
    uint32_t place = 0;
    each_module([&](const dl_phdr_info& info) {
      const uint32_t module = place++;
      if (g_seen.contains(info)) {
        return false;
      }
      const ImportTable table(info, names.wanted);
      if (is_this_library(table) && module != 0) {
        g_seen.add(info);
        return false;
      }
      Counts c{};
      const bool is_done = patch_module(table, all && g_survey.is_initial(module), writer, &c, &bound_lazy);
      if (is_done && g_seen.add(info)) {
        g_seen_counts.add(c);
      } else {
        unfinished.add(c);
      }
      return false;
    });
    g_adds = first.dlpi_adds;
    g_subs = first.dlpi_subs;
    unfinished.add(g_seen_counts);
    publish(unfinished);
  });
  return bound_lazy;
}

bool has_news() {
  bool is_new = false;
  hold_modules([&](const dl_phdr_info& info) { is_new = info.dlpi_adds != g_adds; });
  return is_new;
}

}  // namespace

bool patch_imports() {
  if (!enter()) {
    return false;
  }
  const MuteScope mute;  // the loader may allocate
  const HookNames names;
  bool is_patched = g_is_patched.load(std::memory_order_relaxed);
  if (!is_patched && choose_targets(names)) {
    pthread_atfork(before_fork, after_fork, after_fork);
    is_patched = true;
    g_is_patched.store(true, std::memory_order_release);
  }
  if (is_patched && pass(names, true)) {
    pass(names, true);
  }
  leave();
  return imports().patched != 0;
}

void patch_new_imports() {
  if (!g_is_patched.load(std::memory_order_acquire) || profiler::state() != State::kActive ||
      !profiler::is_owner() || !try_enter()) {
    return;
  }
  if (has_news()) {
    const MuteScope mute;
    const HookNames names;
    do {
      pass(names, false);
    } while (has_news());
  }
  leave();
}

Imports imports() {
  const auto get = [](size_t i) { return g_counts[i].load(std::memory_order_relaxed); };
  return {get(0), get(1), get(2), get(3), get(4)};
}

size_t describe_imports(char* text, size_t size_bytes) {
  TextSink sink(text, size_bytes);
  if (g_is_patched.load(std::memory_order_acquire) && profiler::is_owner() && enter()) {
    const HookNames names;
    uint32_t place = 0;
    hold_modules([&](const dl_phdr_info&) {
      each_module([&](const dl_phdr_info& info) {
        const uint32_t place_now = place++;
        const ImportTable table(info, names.wanted);
        if (is_this_library(table) && place_now != 0) {
          return false;
        }
        const Module module(table, g_survey.is_initial(place_now));
        Counts c{};
        table.each_slot([&](const ImportTable::Slot& slot) {
          const bool counted = g_hooks[slot.name].kind != HookKind::kLoader;
          const Verdict v = module.judge(slot, load(slot.address));
          c.refused += v == Verdict::kTarget && counted;
          c.foreign += v == Verdict::kForeign;
          c.unbound += v == Verdict::kUnbound;
        });
        if (c.refused + c.foreign + c.unbound != 0) {
          sink.add(place_now == 0 ? program_path() : info.dlpi_name);
          sink.add(": refused ");
          sink.add(c.refused);
          sink.add(", foreign ");
          sink.add(c.foreign);
          sink.add(", unbound ");
          sink.add(c.unbound);
          sink.add("\n");
        }
        return false;
      });
    });
    leave();
  }
  return sink.finish();
}

}  // namespace memprof::platform
