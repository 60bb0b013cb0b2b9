// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/inline_hooks.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

#include "core/sampling/sampler.h"
#include "cpu/facts.h"
#include "platform/imports.h"
#include "platform/linux/imports/import_targets.h"
#include "platform/linux/inline_hooks/complaints.h"
#include "platform/linux/inline_hooks/inner_module.h"
#include "platform/linux/inline_hooks/late_patches.h"
#include "platform/linux/inline_hooks/loader_watch.h"
#include "platform/linux/inline_hooks/relocated.h"
#include "platform/linux/interpose/nested.h"
#include "platform/linux/interpose/real.h"
#include "platform/linux/modules/exports.h"
#include "platform/messages.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

constexpr uint32_t kMaxHooked = 64;
constexpr uint32_t kMaxKnown = 2048;

struct KnownModule {
  uint64_t load_address;
  const void* headers;
};

// While the loader's lock is held, or before there are threads.
InnerModule* g_hooked[kMaxHooked];
uint32_t g_hooked_count;
KnownModule g_known[kMaxKnown];
uint32_t g_known_count;
uint64_t g_adds;
uint64_t g_subs;
LatePatches g_late;
bool g_is_late;        // a tracer begins the watch of the loader
bool g_begin_is_seen;  // of what the loader maps now

bool is_alone() {
  struct stat status;
  return stat("/proc/self/task", &status) == 0 &&
         status.st_nlink == 3;  // "." and "..", and a folder for the thread
}

bool contains(const dl_phdr_info& module, const void* address) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = module.dlpi_phdr[i];
    if (p.p_type == PT_LOAD &&
        reinterpret_cast<uint64_t>(address) - module.dlpi_addr - p.p_vaddr < p.p_memsz) {
      return true;
    }
  }
  return false;
}

const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

InnerModule* look_at(const dl_phdr_info& module, bool is_program, Patching patching) {
  const char* path = is_program ? "/proc/self/exe" : module.dlpi_name;
  if (g_hooked_count == kMaxHooked || path == nullptr || path[0] != '/' ||
      contains(module, reinterpret_cast<const void*>(&look_at))) {
    return nullptr;
  }
  const bool is_behind_malloc = contains(module, reinterpret_cast<const void*>(interpose::g_real.malloc));
  if (is_behind_malloc && ExportTable(module).find("mallocx") == nullptr) {
    return nullptr;  // all of it is seen by malloc's hooks
  }
  InnerModule* hooked = hook_module(module, path, file_name(is_program ? program_path() : path), is_program,
                                    is_behind_malloc, patching);
  if (hooked != nullptr) {
    g_hooked[g_hooked_count++] = hooked;
    complain_of(*hooked);
  }
  return hooked;
}

bool is_loaded(uint64_t load_address, const void* headers) {
  bool is_there = false;
  each_module([&](const dl_phdr_info& info) {
    return is_there = info.dlpi_addr == load_address && info.dlpi_phdr == headers;
  });
  return is_there;
}

// Another module can come to where one was unloaded.
void forget_unloaded() {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < g_known_count; ++i) {
    if (is_loaded(g_known[i].load_address, g_known[i].headers)) {
      g_known[kept++] = g_known[i];
    }
  }
  g_known_count = kept;
  kept = 0;
  for (uint32_t i = 0; i < g_hooked_count; ++i) {
    if (is_loaded(g_hooked[i]->load_address, g_hooked[i]->headers)) {
      g_hooked[kept++] = g_hooked[i];
    } else {
      g_late.forget(*g_hooked[i]);
      release_module(g_hooked[i]);
    }
  }
  g_hooked_count = kept;
}

bool is_known(const dl_phdr_info& info) {
  for (uint32_t i = 0; i < g_known_count; ++i) {
    if (g_known[i].load_address == info.dlpi_addr && g_known[i].headers == info.dlpi_phdr) {
      return true;
    }
  }
  return false;
}

// true: nobody has asked for the module.
bool add_known(const dl_phdr_info& info) {
  if (is_known(info) || g_known_count == kMaxKnown) {
    return false;
  }
  g_known[g_known_count++] = {info.dlpi_addr, info.dlpi_phdr};
  return true;
}

// visit(module, is_program) for each module that is new.
template <typename Visit>
void each_new_module(const Visit& visit) {
  hold_modules([&](const dl_phdr_info& first) {
    if (first.dlpi_subs != g_subs) {
      forget_unloaded();
    } else if (first.dlpi_adds == g_adds) {
      return;
    }
    g_subs = first.dlpi_subs;
    g_adds = first.dlpi_adds;
    each_module([&](const dl_phdr_info& info) {
      if (add_known(info)) {
        visit(info, info.dlpi_phdr == first.dlpi_phdr);
      }
      return false;
    });
  });
}

// Where a tracer began the watch, others may have come between its preparation and its begin: they have run.  They are
// relocated when the loader begins to map more.
void know_relocated() {
  hold_modules([&](const dl_phdr_info&) {
    each_module([&](const dl_phdr_info& info) {
      if (!is_known(info) && is_relocated(info)) {
        add_known(info);
      }
      return false;
    });
  });
}

// If the watch began after that, what is relocated may have run.
void look_at_new() {
  const bool may_have_run = g_is_late && !g_begin_is_seen;
  each_new_module([&](const dl_phdr_info& info, bool is_program) {
    look_at(info, is_program, may_have_run && is_relocated(info) ? Patching::kNever : Patching::kNow);
  });
}

bool is_wanted() {
  if (!cpu::kMovesCode) {
    return false;
  }
  const char* text = environment("MEMPROF_INLINE_HOOKS");
  return text != nullptr && strcmp(text, "1") == 0 && environment("MEMPROF_PROFILE") != nullptr;
}

void look_at_change(LoaderChange change) {
  const int saved_errno = errno;
  const MuteScope mute;
  if (change == LoaderChange::kBegins) {
    if (g_is_late) {
      know_relocated();
    }
    g_begin_is_seen = true;
  } else if (!is_sandboxed()) {
    look_at_new();
    g_begin_is_seen = false;
  }
  errno = saved_errno;
}

// Appends a line to a text, as much of it as fits.
void append_line(char (&text)[LatePatchRequest::kSaidBytes], const char* const* parts) {
  size_t at = strlen(text);
  for (; *parts != nullptr && at < sizeof(text) - 2; ++parts) {
    const size_t room = sizeof(text) - 2 - at;
    const size_t bytes = strnlen(*parts, room);
    memcpy(text + at, *parts, bytes);
    at += bytes;
  }
  text[at] = '\n';
  text[at + 1] = '\0';
}

LatePatchRequest* g_request;  // that is answered
bool g_is_told;               // the program was started with hooks, and who did so reads standard error

void tell_request(const char* const* parts) {
  append_line(g_request->refused, parts);
}

// What is found later is not said: standard error is the program's.
void tell_nobody(const char* const*) {}

bool is_asked_for(const dl_phdr_info& module) {
  for (uint32_t i = 0; i < g_request->module_count; ++i) {
    if (contains(module, reinterpret_cast<const void*>(g_request->modules[i]))) {
      return true;
    }
  }
  return false;
}

void prepare_module(const dl_phdr_info& info, bool is_program) {
  const InnerModule* hooked = is_asked_for(info) ? look_at(info, is_program, Patching::kByTracer) : nullptr;
  if (hooked == nullptr || hooked->refusal != nullptr) {
    return;
  }
  if (!g_late.add_module(*hooked)) {
    const char* const parts[] = {hooked->path, ": there is no room for more hooks", nullptr};
    tell_request(parts);
    return;
  }
  for (uint32_t h = 0; h < hooked->heap_count; ++h) {
    const InnerHeap& heap = hooked->heaps[h];
    const char* const parts[] = {heap.name, nullptr};
    if (heap.state.load(std::memory_order_relaxed) == InnerState::kPrepared) {
      append_line(g_request->hooked, parts);
    }
  }
}

}  // namespace

void hook_inner_allocators() {
  if (!is_wanted()) {
    return;
  }
  const MuteScope mute;
  const bool alone = is_alone();
  g_is_told = true;
  each_new_module([&](const dl_phdr_info& info, bool is_program) {
    look_at(info, is_program, alone ? Patching::kNow : Patching::kNever);
  });
  if (g_hooked_count != 0) {
    interpose::mute_nested_calls();  // the allocator behind malloc may call one that is hooked now
  }
  if (alone) {
    watch_loader(look_at_change);
  }
}

bool prepare_late_hooks(LatePatchRequest* request) {
  if (request->request_bytes != sizeof(LatePatchRequest) || request->patch_bytes != sizeof(LatePatch) ||
      request->module_count > LatePatchRequest::kMaxModules) {
    return false;
  }
  if (!cpu::kMovesCode) {
    return true;  // there is nobody to write them
  }
  if (is_sandboxed()) {
    const char* const parts[] = {"the process has a filter of system calls: allocators in it are not tried",
                                 nullptr};
    append_line(request->refused, parts);
    return true;
  }
  const MuteScope mute;
  g_request = request;
  set_complaint_listener(tell_request);
  each_new_module(prepare_module);
  LatePatch watch[2];
  const uint32_t count = prepare_loader_watch(look_at_change, watch);
  g_is_late = g_is_late || count != 0;
  if (count != 0) {
    g_late.add_group(watch, count);
  }
  set_complaint_listener(g_is_told ? message : tell_nobody);
  g_request = nullptr;
  request->patches = g_late.address();
  request->patch_count = g_late.count();
  return true;
}

}  // namespace memprof::platform
