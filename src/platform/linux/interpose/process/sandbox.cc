// SPDX-License-Identifier: Apache-2.0
// prctl and syscall, in front of those of the C library: a program that loads a filter of system calls does
// it through one of them (libseccomp through the second).  From then on a call of ours that the filter does
// not know can end the process.
//
// What is asked of the system for the profile is asked here, before the filter is there.  A filter that the
// kernel refused was none.
//
// Threads, signals: as the functions they stand for, which are system calls and nothing else. A thread may wait in syscall()
//   for as long as it likes: all of a call that loads no filter is in the exported function itself, which attach takes as
//   code that holds nothing of memprof's (unsafe_code.h).
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/engine/recorder.h"
#include "platform/clock.h"
#include "platform/linux/interpose/hook_name.h"
#include "platform/linux/memory/system_call.h"
#include "platform/linux/modules/elf_image.h"
#include "platform/process.h"

namespace {

[[gnu::always_inline]] inline long call_system(long number, const long* a) {
  return memprof::platform::system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

bool loads_filter(long number, const long* a) {
  return (number == SYS_prctl && a[0] == PR_SET_SECCOMP) ||
         (number == SYS_seccomp && (a[0] == SECCOMP_SET_MODE_STRICT || a[0] == SECCOMP_SET_MODE_FILTER));
}

// The strict mode takes the processor's clock away, too.
bool is_strict(long number, const long* a) {
  return number == SYS_prctl ? a[1] == SECCOMP_MODE_STRICT : a[0] == SECCOMP_SET_MODE_STRICT;
}

[[gnu::noinline, gnu::cold]] long load_filter(long number, const long* a) {
  namespace platform = memprof::platform;
  const bool was_sandboxed = platform::is_sandboxed();
  if (!was_sandboxed) {
    const int saved_errno = errno;
    memprof::profiler::before_sandbox();
    platform::know_modules();
    errno = saved_errno;
    platform::set_sandboxed(true);
  }
  if (is_strict(number, a)) {
    platform::stop_clock(true);
  }
  const long result = call_system(number, a);
  if (result == -1 && is_strict(number, a)) {
    platform::stop_clock(false);
  }
  if (result == -1 && !was_sandboxed) {
    platform::set_sandboxed(false);
  }
  return result;
}

[[gnu::always_inline]] inline long make_call(long number, const long* a) {
  return __builtin_expect(loads_filter(number, a), 0) ? load_filter(number, a) : call_system(number, a);
}

}  // namespace

MEMPROF_DEFINE_HOOK(long, syscall, (long sysno, ...)) {
  va_list list;
  va_start(list, sysno);
  long a[6];
  for (long& argument : a) {
    argument = va_arg(list, long);
  }
  va_end(list);
  return make_call(sysno, a);
}

MEMPROF_DEFINE_HOOK(int, prctl, (int option, ...)) {
  va_list list;
  va_start(list, option);
  long a[6] = {option};
  for (int i = 1; i < 5; ++i) {
    a[i] = va_arg(list, long);
  }
  va_end(list);
  return static_cast<int>(make_call(SYS_prctl, a));
}
