// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/frame_tables.h"

#include <dlfcn.h>
#include <errno.h>

#include <atomic>

#include "core/sampling/sampler.h"
#include "platform/linux/interpose/hook_name.h"
#include "platform/linux/libc/c_library.h"
#include "platform/memory.h"
#include "unwind/tables/registered.h"

namespace memprof::interpose {
namespace {

constexpr const char* kNames[kFrameCalls] = {
    "__register_frame",       "__register_frame_info",       "__register_frame_info_bases",
    "__register_frame_table", "__register_frame_info_table", "__register_frame_info_table_bases",
    "__deregister_frame",     "__deregister_frame_info",     "__deregister_frame_info_bases",
};

// Of all callers.  Release when it is set, acquire when it is read.
std::atomic<uint64_t> g_real_frame_calls[kFrameCalls];

// Of one caller.
struct Site {
  uint64_t caller;
  uint64_t real;
  uint32_t call;
};
constexpr uint32_t kMaxSites = 64;
Site g_sites[kMaxSites];
std::atomic<uint32_t> g_site_count{0};  // release: the sites below it are written
std::atomic<bool> g_is_adding{false};

uint64_t known_site(uint32_t call, uint64_t caller) {
  const uint32_t count = g_site_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    if (g_sites[i].caller == caller && g_sites[i].call == call) {
      return g_sites[i].real;
    }
  }
  return 0;
}

// Where others are adding, or all are taken, the loader is asked again the next time.
void add_site(const Site& site) {
  if (g_is_adding.exchange(true, std::memory_order_acquire)) {
    return;
  }
  const uint32_t count = g_site_count.load(std::memory_order_relaxed);
  if (count < kMaxSites) {
    g_sites[count] = site;
    g_site_count.store(count + 1, std::memory_order_release);
  }
  g_is_adding.store(false, std::memory_order_release);
}

// What the libraries that the caller's needs define.  They stay loaded from then on, because a site keeps it.
uint64_t find_for(uint32_t call, uint64_t caller) {
  const char* path = platform::libc::module_name(caller);
  if (path == nullptr) {
    return 0;
  }
  void* library = dlopen(path[0] != '\0' ? path : nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return 0;
  }
  Dl_info info;
  void* found = dlsym(library, kNames[call]);
  if (found != nullptr && dladdr(found, &info) != 0) {
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
  dlclose(library);
  return reinterpret_cast<uint64_t>(found);
}

[[gnu::noinline]] uint64_t ask_loader(uint32_t call, uint64_t caller) {
  const MuteScope mute;  // what the loader allocates is ours
  uint64_t real = reinterpret_cast<uint64_t>(platform::libc::find_next(kNames[call]));
  if (real != 0) {
    g_real_frame_calls[call].store(real, std::memory_order_release);
  } else if ((real = find_for(call, caller)) != 0) {
    add_site({caller, real, call});
  }
  return real;
}

uint64_t real_of(uint32_t call, uint64_t caller) {
  uint64_t real = g_real_frame_calls[call].load(std::memory_order_acquire);
  if (real == 0) {
    real = known_site(call, caller);
  }
  return real != 0 ? real : ask_loader(call, caller);
}

void note(FrameCall call, const void* begin) {
  const int saved_errno = errno;
  unwind::RegisteredTables& tables = unwind::g_registered_tables;
  const uint64_t name = reinterpret_cast<uint64_t>(begin);
  switch (call) {
    case FrameCall::kRegister:
    case FrameCall::kRegisterInfo:
    case FrameCall::kRegisterInfoBases:
      tables.add(name);
      break;
    case FrameCall::kRegisterTable:
    case FrameCall::kRegisterInfoTable:
    case FrameCall::kRegisterInfoTableBases: {
      // A list of sections that ends with a null pointer.
      uint64_t section;
      for (uint64_t i = 0; i < unwind::RegisteredTables::kMaxSections; ++i) {
        if (!platform::read_memory(name + i * sizeof(section), &section, sizeof(section)) || section == 0) {
          break;
        }
        tables.add(section, name);
      }
      break;
    }
    case FrameCall::kDeregister:
    case FrameCall::kDeregisterInfo:
    case FrameCall::kDeregisterInfoBases:
      tables.remove(name);
      break;
  }
  errno = saved_errno;
}

// Notes the call, and says where it goes on.
template <typename Function>
[[gnu::noinline]] Function* enter(FrameCall call, const void* begin, const void* caller) {
  note(call, begin);
  return reinterpret_cast<Function*>(
      real_of(static_cast<uint32_t>(call), reinterpret_cast<uint64_t>(caller)));
}

}  // namespace

void set_frame_call(uint32_t call, uint64_t address) {
  g_real_frame_calls[call].store(address, std::memory_order_release);
}

}  // namespace memprof::interpose

using memprof::interpose::enter;
using memprof::interpose::FrameCall;

// Weak: a program that libgcc is linked into statically has libgcc's own.
#if defined(MEMPROF_LOCAL_HOOKS)
#define MEMPROF_WEAK_HOOK(type, name, parameters)
#else
#define MEMPROF_WEAK_HOOK(type, name, parameters) extern "C" __attribute__((weak)) type name parameters;
#endif

// Each ends in a jump, so that what the real function allocates is its caller's.
// NOLINTBEGIN(bugprone-reserved-identifier): libgcc's names
#define MEMPROF_FRAME_HOOK(type, name, call, parameters, arguments, none)                           \
  MEMPROF_WEAK_HOOK(type, name, parameters)                                                         \
  MEMPROF_DEFINE_HOOK(type, name, parameters) {                                                     \
    auto* const real = enter<type parameters>(FrameCall::call, begin, __builtin_return_address(0)); \
    return real != nullptr ? real arguments : (none);                                               \
  }

MEMPROF_FRAME_HOOK(void, __register_frame, kRegister, (void* begin), (begin), void())
MEMPROF_FRAME_HOOK(void, __register_frame_info, kRegisterInfo, (const void* begin, void* object),
                   (begin, object), void())
MEMPROF_FRAME_HOOK(void, __register_frame_info_bases, kRegisterInfoBases,
                   (const void* begin, void* object, void* text, void* data), (begin, object, text, data),
                   void())
MEMPROF_FRAME_HOOK(void, __register_frame_table, kRegisterTable, (void* begin), (begin), void())
MEMPROF_FRAME_HOOK(void, __register_frame_info_table, kRegisterInfoTable, (void* begin, void* object),
                   (begin, object), void())
MEMPROF_FRAME_HOOK(void, __register_frame_info_table_bases, kRegisterInfoTableBases,
                   (void* begin, void* object, void* text, void* data), (begin, object, text, data), void())
MEMPROF_FRAME_HOOK(void, __deregister_frame, kDeregister, (void* begin), (begin), void())
MEMPROF_FRAME_HOOK(void*, __deregister_frame_info, kDeregisterInfo, (const void* begin), (begin), nullptr)
MEMPROF_FRAME_HOOK(void*, __deregister_frame_info_bases, kDeregisterInfoBases, (const void* begin), (begin),
                   nullptr)
// NOLINTEND(bugprone-reserved-identifier)
