// SPDX-License-Identifier: Apache-2.0
// exec and posix_spawn, in front of those of the C library: who is told that a program is executed can tell which ones
// memprof did not begin in (core/engine/profiler.h).  A program that would not start with this library is executed
// without it in LD_PRELOAD (programs/program_file.h); all else that they are given goes on as it is, and what is read of
// it is read as the kernel does: it may be no memory.
//
// Not seen: what the C library executes itself (system, popen), and system calls by syscall() or by code of its own.
//
// Threads, signals, vfork children: as the functions they stand for.
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/engine/profiler.h"
#include "core/sampling/sampler.h"
#include "platform/linux/libc/c_library.h"
#include "platform/linux/programs/preload_list.h"
#include "platform/linux/programs/program_file.h"
#include "platform/linux/programs/sibling_library.h"
#include "platform/memory.h"
#include "platform/process.h"

#define MEMPROF_EXECUTE extern "C" __attribute__((visibility("default")))

namespace memprof::interpose {
namespace {

using List = char* const*;
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, List,
                  List);

// Of the C library, behind ours.
struct Next {
  int (*execve)(const char*, List, List);
  int (*execvpe)(const char*, List, List);
  int (*fexecve)(int, List, List);
  int (*execveat)(int, const char*, List, List, int);  // nullptr before glibc 2.34
  Spawn* posix_spawn;
  Spawn* posix_spawnp;
  bool is_known;
};
Next g_next;

template <typename Function>
void find(const char* name, Function** found) {
  *found = reinterpret_cast<Function*>(platform::libc::find_next(name));
}

// Whoever looks them up finds the same.  At the start, when no other thread has the loader's lock, as it may in a
// vfork child; a library that is initialised before this one may be earlier.
__attribute__((constructor)) void look_up() {
  const MuteScope mute;
  find("execve", &g_next.execve);
  find("execvpe", &g_next.execvpe);
  find("fexecve", &g_next.fexecve);
  find("execveat", &g_next.execveat);
  find("posix_spawn", &g_next.posix_spawn);
  find("posix_spawnp", &g_next.posix_spawnp);
  Dl_info own;
  if (dladdr(&g_next, &own) != 0) {
    platform::set_own_library(own.dli_fname);
    platform::find_sibling_library(own.dli_fname);
  }
  __atomic_store_n(&g_next.is_known, true, __ATOMIC_RELEASE);
}

const Next& next() {
  if (!__atomic_load_n(&g_next.is_known, __ATOMIC_ACQUIRE)) {
    look_up();
  }
  return g_next;
}

// More is mapped: what a vfork child maps stays with its parent.
constexpr size_t kMaxOnStack = 16 * 1024;

// Call(environment): with the library in it; with that of the program's own C library; or without, where the program
// suffers none.
template <typename Call>
int with_fit_environment(platform::Preload preload, List envp, const Call& call) {
  const char* const instead = preload == platform::Preload::kSibling ? platform::sibling_library() : "";
  const size_t size =
      preload == platform::Preload::kHarmless ? 0 : platform::environment_copy_bytes(envp, instead);
  if (size == 0) {
    return call(envp);
  }
  if (size <= kMaxOnStack) {
    return call(platform::copy_environment(envp, alloca(size), size, instead));
  }
  void* const memory = platform::reserve_pages(size);
  if (memory == nullptr) {
    return call(envp);
  }
  const int result = call(platform::copy_environment(envp, memory, size, instead));
  const int saved_errno = errno;
  platform::release_pages(memory, size);
  errno = saved_errno;
  return result;
}

// Execute: the call, which returns only where it fails.
template <typename Execute>
int note(const char* path, platform::Preload preload, List envp, const Execute& execute) {
  const uint32_t begun = begin_program(path);
  const int result = with_fit_environment(preload, envp, execute);
  program_did_not_begin(begun);
  return result;
}

int execute(const char* path, List argv, List envp) {
  return note(path, platform::preload_into(AT_FDCWD, path), envp,
              [&](List environment) { return next().execve(path, argv, environment); });
}

int search(const char* file, List argv, List envp) {
  return note(file, platform::preload_into_found(file), envp,
              [&](List environment) { return next().execvpe(file, argv, environment); });
}

bool is_empty(const char* path) {
  char beginning[2];
  return path != nullptr && platform::copy_text(path, beginning, sizeof(beginning)) && beginning[0] == '\0';
}

const char* first(List argv) {
  char* name = nullptr;
  return argv != nullptr && platform::read_memory(reinterpret_cast<uintptr_t>(argv), &name, sizeof(name))
             ? name
             : nullptr;
}

int spawn(Spawn* real, platform::Preload preload, pid_t* pid, const char* path,
          const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes, List argv,
          List envp) {
  pid_t id = 0;
  const uint64_t start = platform::start_of_new_process();
  const int error = with_fit_environment(preload, envp, [&](List environment) {
    return real(&id, path, actions, attributes, argv, environment);
  });
  if (error == 0) {
    program_was_spawned(static_cast<uint32_t>(id), start, path);
    if (pid != nullptr) {
      *pid = id;
    }
  }
  return error;
}

}  // namespace
}  // namespace memprof::interpose

using namespace memprof::interpose;
namespace platform = memprof::platform;

MEMPROF_EXECUTE int execve(const char* path, List argv, List envp) {
  return execute(path, argv, envp);
}

MEMPROF_EXECUTE int execv(const char* path, List argv) {
  return execute(path, argv, environ);
}

MEMPROF_EXECUTE int execvp(const char* file, List argv) {
  return search(file, argv, environ);
}

MEMPROF_EXECUTE int execvpe(const char* file, List argv, List envp) {
  return search(file, argv, envp);
}

MEMPROF_EXECUTE int fexecve(int fd, List argv, List envp) {
  return note(first(argv), platform::preload_into(fd), envp,
              [&](List environment) { return next().fexecve(fd, argv, environment); });
}

MEMPROF_EXECUTE int execveat(int fd, const char* path, List argv, List envp, int flags) {
  const bool is_file = (flags & AT_EMPTY_PATH) != 0 && is_empty(path);
  const platform::Preload preload = is_file ? platform::preload_into(fd) : platform::preload_into(fd, path);
  return note(is_file ? first(argv) : path, preload, envp, [&](List environment) {
    if (next().execveat != nullptr) {
      return next().execveat(fd, path, argv, environment, flags);
    }
    return static_cast<int>(syscall(SYS_execveat, fd, path, argv, environment, flags));
  });
}

// `CALL(argv, list)` with the arguments as an array; `list` is behind the last of them.
#define MEMPROF_EXECUTE_LIST(first_argument, CALL)                        \
  va_list list;                                                           \
  size_t count = 1;                                                       \
  va_start(list, first_argument);                                         \
  while (va_arg(list, char*) != nullptr) {                                \
    ++count;                                                              \
  }                                                                       \
  va_end(list);                                                           \
  auto** argv = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  argv[0] = const_cast<char*>(first_argument);                            \
  va_start(list, first_argument);                                         \
  for (size_t i = 1; i <= count; ++i) {                                   \
    argv[i] = va_arg(list, char*);                                        \
  }                                                                       \
  const int result = CALL;                                                \
  va_end(list);                                                           \
  return result

MEMPROF_EXECUTE int execl(const char* path, const char* arg, ...) {
  MEMPROF_EXECUTE_LIST(arg, execute(path, argv, environ));
}

MEMPROF_EXECUTE int execlp(const char* file, const char* arg, ...) {
  MEMPROF_EXECUTE_LIST(arg, search(file, argv, environ));
}

MEMPROF_EXECUTE int execle(const char* path, const char* arg, ...) {
  MEMPROF_EXECUTE_LIST(arg, execute(path, argv, va_arg(list, char**)));
}

MEMPROF_EXECUTE int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* file_actions,
                                const posix_spawnattr_t* attrp, List argv, List envp) {
  return spawn(next().posix_spawn, platform::preload_into(AT_FDCWD, path), pid, path, file_actions, attrp,
               argv, envp);
}

MEMPROF_EXECUTE int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* file_actions,
                                 const posix_spawnattr_t* attrp, List argv, List envp) {
  return spawn(next().posix_spawnp, platform::preload_into_found(file), pid, file, file_actions, attrp, argv,
               envp);
}
