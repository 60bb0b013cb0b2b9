// SPDX-License-Identifier: Apache-2.0
// Begin and end of the process, as the interposer sees them.
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "core/engine/ending.h"
#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "platform/linux/interpose/loader_calls.h"
#include "platform/linux/interpose/process/deep_binding.h"
#include "platform/linux/interpose/real.h"
#include "platform/linux/interpose/sample.h"
#include "platform/linux/libc/c_library.h"
#include "platform/posix/environment.h"
#include "platform/posix/fork_handler.h"
#include "platform/process.h"

using RegisterExit = int (*)(void (*)(void*), void*, void*);

// A program that ends by _exit runs no destructors; its profile would be lost.  A vfork child that fails to
// exec ends here too, in its parent's memory: end_of_process knows the owner by its process id.
extern "C" MEMPROF_HOOK __attribute__((visibility("hidden"), noreturn)) void memprof_hook__exit(int status) {
  memprof::end_of_process();
  for (;;) {
    syscall(SYS_exit_group, status);
  }
}

extern "C" int __cxa_atexit(void (*handler)(void*), void* argument, void* dso);

namespace {

void note_exit(void*) {
  memprof::profiler::note_end_begun();
}

}  // namespace

#if defined(MEMPROF_LOCAL_HOOKS)
namespace {

// The file of the arena goes with the process.
__attribute__((constructor)) void on_load() {
  at_quick_exit(memprof::end_of_process);
  // Handlers that the program registers after this come before it.
  __cxa_atexit(note_exit, nullptr, nullptr);
}

__attribute__((destructor)) void on_exit() {
  memprof::end_of_process();
}

}  // namespace

// Only memprof_start lets allocations come here, and the process is prepared then.
memprof::SamplingEvent memprof::interpose::begin_event(size_t size) {
  return sampler_event(size);
}
#else

extern "C" void* malloc(size_t);
extern "C" void free(void*);

namespace memprof::interpose {
namespace {

enum : int { kUnprepared, kPreparing, kPrepared };
std::atomic<int> g_stage{kUnprepared};

// Does the process's malloc come to our hook?  Loaded by dlopen, this library is not what the process calls;
// preloaded or linked, it is.  Addresses do not tell: in a program without PIE, &malloc can be an entry of
// its own PLT.
bool reaches_us() {
  const MuteScope mute;
  const uint64_t before = t_sampler.count;
  void* (*volatile process_malloc)(size_t) = &malloc;
  void* block = process_malloc(1);
  const bool reached = t_sampler.count != before;
  free(block);
  return reached;
}

// Of the C library, behind ours.
RegisterExit register_exit() {
  static std::atomic<RegisterExit> real{nullptr};  // relaxed: whoever looks it up finds the same
  RegisterExit found = real.load(std::memory_order_relaxed);
  if (found == nullptr) {
    const MuteScope mute;
    found = reinterpret_cast<RegisterExit>(platform::libc::find_next("__cxa_atexit"));
    real.store(found, std::memory_order_relaxed);
  }
  return found;
}

__attribute__((constructor)) void on_load() {
  resolve();
  if (platform::is_privileged()) {
    platform::forget_environment();
  }
  platform::hook_inner_allocators();
  prepare_process(false);
  if (profiler::state() == State::kActive) {
    runtimes::attach();  // not earlier: in the first allocation of a process its modules are not relocated
  }
  platform::watch_forks();
  const MuteScope mute;  // what the registrations allocate is ours
  register_exit()(note_exit, nullptr, nullptr);
  at_quick_exit(end_of_process);  // quick_exit runs no destructors, and its _exit is libc's own
}

__attribute__((destructor)) void on_exit() {
  look_at_namespaces();
  end_of_process();
}

}  // namespace

// The first allocation comes before the constructor: from the loader, when the environment cannot be read
// yet, or from a library that is initialised before this one.
bool prepare_process(bool from_hook) {
  if (__builtin_expect(g_stage.load(std::memory_order_acquire) == kPrepared, 1) || environ == nullptr) {
    return false;
  }
  int expected = kUnprepared;
  if (!g_stage.compare_exchange_strong(expected, kPreparing, std::memory_order_acq_rel)) {
    return false;
  }
  profiler::adopt_process();
  if (from_hook || reaches_us()) {
    profiler::announce_hooks();
    autostart();
  }
  sampler_redraw();
  g_stage.store(kPrepared, std::memory_order_release);
  return true;
}

SamplingEvent begin_event(size_t size) {
  // The clock that ran out was no clock yet: ask the new one about this allocation.
  if (prepare_process(true) && !sampler_tick(size)) {
    return sampler_no_event();
  }
  return sampler_event(size);
}

}  // namespace memprof::interpose

// The handler that was registered last is called first: ours, which notes that the end has begun, follows
// each of the program's.  Not beyond a number, because a handler of a library that is unloaded goes, and ours
// stay. Weak: a program that is linked statically has the C library's own.
extern "C" __attribute__((visibility("default"), weak)) int __cxa_atexit(void (*handler)(void*),
                                                                         void* argument, void* dso) {
  constexpr uint32_t kMaxNotes = 4096;
  static std::atomic<uint32_t> notes{0};
  const RegisterExit real = memprof::interpose::register_exit();
  if (real == nullptr) {
    return -1;
  }
  const int result = real(handler, argument, dso);
  if (result == 0 && notes.load(std::memory_order_relaxed) < kMaxNotes) {
    notes.fetch_add(1, std::memory_order_relaxed);
    real(note_exit, nullptr, nullptr);
  }
  return result;
}

extern "C" MEMPROF_HOOK __attribute__((visibility("default"), noreturn)) void _exit(int status) {
  memprof_hook__exit(status);
}

extern "C" MEMPROF_HOOK __attribute__((visibility("default"), noreturn)) void _Exit(int status) {
  memprof_hook__exit(status);
}

#endif
