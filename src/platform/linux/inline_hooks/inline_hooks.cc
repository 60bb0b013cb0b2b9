// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/inline_hooks.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

#include "core/sampling/sampler.h"
#include "platform/linux/imports/import_targets.h"
#include "platform/linux/inline_hooks/complaints.h"
#include "platform/linux/inline_hooks/inner_module.h"
#include "platform/linux/inline_hooks/loader_watch.h"
#include "platform/linux/interpose/nested.h"
#include "platform/linux/interpose/real.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

constexpr uint32_t kMostHooked = 64;
constexpr uint32_t kMostKnown = 2048;

struct KnownModule {
  uint64_t load_address;
  const void* headers;
};

// While the loader's lock is held, or before there are threads.
InnerModule* g_hooked[kMostHooked];
uint32_t g_hooked_count;
KnownModule g_known[kMostKnown];
uint32_t g_known_count;
uint64_t g_subs;

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

void look_at(const dl_phdr_info& module, bool is_program, bool may_hook) {
  const char* path = is_program ? "/proc/self/exe" : module.dlpi_name;
  if (g_hooked_count == kMostHooked || path == nullptr || path[0] != '/' ||
      contains(module, reinterpret_cast<const void*>(&look_at)) ||
      contains(module, reinterpret_cast<const void*>(interpose::g_real.malloc))) {  // seen by malloc's hooks
    return;
  }
  InnerModule* hooked =
      hook_module(module, path, file_name(is_program ? program_path() : path), is_program, may_hook);
  if (hooked != nullptr) {
    g_hooked[g_hooked_count++] = hooked;
    complain_of(*hooked);
  }
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
      release_module(g_hooked[i]);
    }
  }
  g_hooked_count = kept;
}

// true: nobody has asked for the module.
bool add_known(const dl_phdr_info& info) {
  for (uint32_t i = 0; i < g_known_count; ++i) {
    if (g_known[i].load_address == info.dlpi_addr && g_known[i].headers == info.dlpi_phdr) {
      return false;
    }
  }
  if (g_known_count == kMostKnown) {
    return false;
  }
  g_known[g_known_count++] = {info.dlpi_addr, info.dlpi_phdr};
  return true;
}

// `may_hook`: nobody runs the code of modules that are new.
void look(bool may_hook) {
  hold_modules([&](const dl_phdr_info& first) {
    if (first.dlpi_subs != g_subs) {
      forget_unloaded();
      g_subs = first.dlpi_subs;
    }
    each_module([&](const dl_phdr_info& info) {
      const bool is_program = info.dlpi_phdr == first.dlpi_phdr;
      if (add_known(info)) {
        look_at(info, is_program, may_hook);
      }
      return false;
    });
  });
}

bool is_wanted() {
#if !defined(__x86_64__)
  return false;  // relocation.h is not written for others
#endif
  const char* text = environment("MEMPROF_INLINE_HOOKS");
  return text != nullptr && strcmp(text, "1") == 0 && environment("MEMPROF_PROFILE") != nullptr;
}

void look_at_change() {
  const int saved_errno = errno;
  const MuteScope mute;
  if (!is_sandboxed()) {
    look(true);
  }
  errno = saved_errno;
}

}  // namespace

void hook_inner_allocators() {
  if (!is_wanted()) {
    return;
  }
  const MuteScope mute;
  const bool alone = is_alone();
  look(alone);
  if (g_hooked_count != 0) {
    interpose::mute_nested_calls();  // the allocator behind malloc may call one that is hooked now
  }
  if (alone) {
    watch_loader(look_at_change);
  }
}

}  // namespace memprof::platform
