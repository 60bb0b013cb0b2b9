// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/target/musl_frames.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

namespace memprof::cli {
namespace {

// Of those that call back, only what holds nothing meanwhile.
const std::set<std::string_view>& harmless_functions() {
  static const std::set<std::string_view> kNames = {
      // Waits and transfers.
      "accept", "accept4", "clock_nanosleep", "connect", "epoll_pwait", "epoll_wait", "fcntl", "fdatasync",
      "flock", "fsync", "futex", "ioctl", "msgrcv", "msgsnd", "nanosleep", "pause", "poll", "ppoll", "pread",
      "preadv", "pselect", "pwrite", "pwritev", "read", "readv", "recv", "recvfrom", "recvmmsg", "recvmsg",
      "select", "semop", "semtimedop", "send", "sendfile", "sendmmsg", "sendmsg", "sendto", "sigsuspend",
      "sigtimedwait", "sigwait", "sigwaitinfo", "sleep", "syscall", "usleep", "wait", "wait3", "wait4",
      "waitid", "waitpid", "write", "writev",
      // Files, time and the process.
      "access", "clock_getres", "clock_gettime", "dup", "dup2", "dup3", "fstat", "fstatat", "ftruncate",
      "getcpu", "getegid", "geteuid", "getgid", "getpid", "getppid", "getrandom", "getrusage", "gettid",
      "gettimeofday", "getuid", "lseek", "lstat", "madvise", "open", "openat", "pipe", "pipe2", "readlink",
      "sched_getcpu", "sched_yield", "shutdown", "socket", "stat", "time", "unlink",
      // What waits for other threads of the program.
      "cnd_broadcast", "cnd_signal", "cnd_timedwait", "cnd_wait", "mtx_lock", "mtx_timedlock", "mtx_trylock",
      "pthread_cond_broadcast", "pthread_cond_signal", "pthread_cond_timedwait", "pthread_cond_wait",
      "pthread_getspecific", "pthread_join", "pthread_mutex_lock", "pthread_mutex_timedlock",
      "pthread_mutex_trylock", "pthread_rwlock_rdlock", "pthread_rwlock_timedrdlock",
      "pthread_rwlock_timedwrlock", "pthread_rwlock_unlock", "pthread_rwlock_wrlock", "pthread_self",
      "pthread_spin_lock", "pthread_spin_trylock", "pthread_spin_unlock", "pthread_timedjoin_np", "sem_post",
      "sem_timedwait", "sem_trywait", "sem_wait", "thrd_join", "thrd_sleep", "thrd_yield",
      // Strings, sorting, numbers.
      "atoi", "atol", "bsearch", "isalnum", "isalpha", "isdigit", "isspace", "memchr", "memcmp", "memcpy",
      "memmem", "memmove", "memrchr", "memset", "qsort", "qsort_r", "stpcpy", "strcasecmp", "strcat",
      "strchr", "strchrnul", "strcmp", "strcpy", "strcspn", "strlen", "strncasecmp", "strncat", "strncmp",
      "strncpy", "strnlen", "strrchr", "strspn", "strstr", "strtok_r", "strtol", "strtoll", "strtoul",
      "strtoull", "tolower", "toupper", "__errno_location", "ceil", "cos", "exp", "fabs", "floor", "fmod",
      "log", "log10", "log2", "pow", "round", "sin", "sqrt", "tan", "trunc",
      // Streams, whose locks are their own.
      "fflush", "fgetc", "fgets", "fprintf", "fputc", "fputs", "fread", "fwrite", "getc", "getchar", "printf",
      "putc", "putchar", "puts", "snprintf", "vfprintf", "vprintf", "vsnprintf",
      // Calls the program's main function.
      "__libc_start_main"};
  return kNames;
}

// What they do with memory of several processes keeps mmap and munmap waiting (__vm_lock), whoever called them.
bool keeps_mappings(std::string_view name) {
  return name == "pthread_mutex_unlock" || name == "pthread_barrier_wait";
}

// Functions in assembler have no size.
constexpr uint64_t kUnknownBytes = 48;

bool contains(const ImageFunction& function, uint64_t address) {
  return address - function.address < (function.size_bytes != 0 ? function.size_bytes : kUnknownBytes);
}

struct Named {
  std::string name;  // "": it has none
  bool is_harmless = false;
  bool keeps_mappings = false;
};

// A function has several names; one of them may be known.
Named name_at(const TargetImage& musl, uint64_t address) {
  Named named;
  for (const ImageFunction& function : musl.functions) {
    if (!contains(function, address)) continue;
    if (named.name.empty()) named.name = function.name;
    named.is_harmless = named.is_harmless || harmless_functions().count(function.name) != 0;
    named.keeps_mappings = named.keeps_mappings || keeps_mappings(function.name);
  }
  return named;
}

}  // namespace

bool is_musl_library(const TargetImage& image) {
  return image.function("__dls3") != 0 && image.function("__libc_start_main") != 0 &&
         image.function("dlopen") != 0;
}

bool is_in_musl(const TargetImage& musl, uint64_t address) {
  return std::any_of(musl.code.begin(), musl.code.end(),
                     [&](const CodeRange& code) { return code.contains(address); });
}

std::string unsafe_in_musl(const TargetImage& musl, uint64_t return_address, bool begins_stacks) {
  const Named named = name_at(musl, return_address - 1);
  if (named.is_harmless || (named.name.empty() && begins_stacks)) return {};
  return named.name.empty() ? "musl" : named.name;
}

std::string unsafe_in_musl(const TargetImage& musl, const std::vector<uint64_t>& addresses) {
  for (size_t begin = 0, end = 0; begin < addresses.size(); begin = end + 1) {
    Named named;
    for (end = begin; end < addresses.size() && is_in_musl(musl, addresses[end]); ++end) {
      named = name_at(musl, addresses[end]);
      if (named.keeps_mappings) return named.name;
    }
    if (end == begin) continue;
    const bool is_start_code = named.name.empty() && end == addresses.size() && end - begin == 1 && begin > 0;
    if (!named.is_harmless && !is_start_code) return named.name.empty() ? "musl" : named.name;
  }
  return {};
}

}  // namespace memprof::cli
