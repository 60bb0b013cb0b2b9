// SPDX-License-Identifier: Apache-2.0
// A library to preload before memprof's: refuses system calls that memprof makes, by their number in its
// sequence.
//
// It defines the functions of libc through which libmemprof.so calls the system, and goes by the return
// address: calls from elsewhere pass.  REFUSE_FIRST, REFUSE_LAST: which of them fail, counted from 1;
// REFUSE_ERRNO: how. REFUSE_LOG: a file that gets a line for each, so that a test knows how many there are
// and what they were. Let through: exit_group, getpid and gettid, which cannot fail once (where a sandbox
// refuses them, it does so always: see deny.c), and a mask of signals that is put back: nothing could be done
// about that.
//
// Threads, fork: any; processes count together.  Allocates: never.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long raw(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static long with_errno(long result) {
  if (result < 0 && result > -4096) {
    errno = (int)-result;
    return -1;
  }
  return result;
}

// Shared with children.
static int next_number(void) {
  static _Atomic(atomic_int*) g_made;
  atomic_int* made = atomic_load(&g_made);
  if (made == NULL) {
    const long page = raw(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    atomic_int* mine = (atomic_int*)page;
    made = atomic_compare_exchange_strong(&g_made, &made, mine) ? mine : made;
  }
  return atomic_fetch_add(made, 1) + 1;
}

static int setting(const char* name, int otherwise) {
  const char* text = environ != NULL ? getenv(name) : NULL;
  if (text == NULL) return otherwise;
  int number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
  return number;
}

static int is_memprof(const void* address) {
  struct dl_find_object found;
  return _dl_find_object((void*)address, &found) == 0 &&
         strstr(found.dlfo_link_map->l_name, "libmemprof") != NULL;
}

static void note(const char* name, long number) {
  const char* path = environ != NULL ? getenv("REFUSE_LOG") : NULL;
  if (path == NULL) return;
  const long fd =
      raw(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600, 0, 0);
  if (fd < 0) return;
  char line[64];
  size_t length = strlen(name);
  memcpy(line, name, length);
  line[length++] = ' ';
  char digits[20];
  int count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) line[length++] = digits[--count];
  line[length++] = '\n';
  raw(SYS_write, fd, (long)line, (long)length, 0, 0, 0);
  raw(SYS_close, fd, 0, 0, 0, 0, 0);
}

// The error to fail with; 0: let it through.
static int refusal(const void* caller, const char* name, long number) {
  if (!is_memprof(caller)) return 0;
  const int made = next_number();
  note(name, number);
  return made >= setting("REFUSE_FIRST", 1 << 30) && made <= setting("REFUSE_LAST", 0)
             ? setting("REFUSE_ERRNO", EPERM)
             : 0;
}

#define REFUSED(name, number) refusal(__builtin_return_address(0), name, number)

long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long argument[6];
  for (int i = 0; i < 6; ++i) argument[i] = va_arg(list, long);
  va_end(list);
  const int is_let_through = number == SYS_exit_group || number == SYS_getpid || number == SYS_gettid ||
                             (number == SYS_rt_sigprocmask && argument[0] == SIG_SETMASK);
  const int error = is_let_through ? 0 : REFUSED("syscall", number);
  return with_errno(
      error != 0 ? -error
                 : raw(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]));
}

void* mmap(void* start, size_t length, int protection, int flags, int fd, off_t offset) {
  const int error = REFUSED("mmap", SYS_mmap);
  return (void*)with_errno(
      error != 0 ? -error : raw(SYS_mmap, (long)start, (long)length, protection, flags, fd, offset));
}

int munmap(void* start, size_t length) {
  const int error = REFUSED("munmap", SYS_munmap);
  return (int)with_errno(error != 0 ? -error : raw(SYS_munmap, (long)start, (long)length, 0, 0, 0, 0));
}

int madvise(void* start, size_t length, int advice) {
  const int error = REFUSED("madvise", SYS_madvise);
  return (int)with_errno(error != 0 ? -error : raw(SYS_madvise, (long)start, (long)length, advice, 0, 0, 0));
}

int mprotect(void* start, size_t length, int protection) {
  const int error = REFUSED("mprotect", SYS_mprotect);
  return (int)with_errno(error != 0 ? -error
                                    : raw(SYS_mprotect, (long)start, (long)length, protection, 0, 0, 0));
}

int access(const char* path, int mode) {
  const int error = REFUSED("access", SYS_access);
  return (int)with_errno(error != 0 ? -error : raw(SYS_access, (long)path, mode, 0, 0, 0, 0));
}

ssize_t readlink(const char* path, char* target, size_t size) {
  const int error = REFUSED("readlink", SYS_readlink);
  return with_errno(error != 0 ? -error : raw(SYS_readlink, (long)path, (long)target, (long)size, 0, 0, 0));
}

int fstat(int fd, struct stat* status) {
  const int error = REFUSED("fstat", SYS_fstat);
  return (int)with_errno(error != 0 ? -error : raw(SYS_fstat, fd, (long)status, 0, 0, 0, 0));
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int error = REFUSED("clock_gettime", SYS_clock_gettime);
  return (int)with_errno(error != 0 ? -error : raw(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0));
}

ssize_t process_vm_readv(pid_t pid, const struct iovec* to, unsigned long to_count, const struct iovec* from,
                         unsigned long from_count, unsigned long flags) {
  const int error = REFUSED("process_vm_readv", SYS_process_vm_readv);
  return with_errno(error != 0 ? -error
                               : raw(SYS_process_vm_readv, pid, (long)to, (long)to_count, (long)from,
                                     (long)from_count, (long)flags));
}

int sched_yield(void) {
  const int error = REFUSED("sched_yield", SYS_sched_yield);
  return (int)with_errno(error != 0 ? -error : raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0));
}

int __sigaction(int number, const struct sigaction* action,
                struct sigaction* before);  // libc's own name for it

int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  const int error = REFUSED("sigaction", SYS_rt_sigaction);
  if (error != 0) {
    errno = error;
    return -1;
  }
  return __sigaction(number, action, before);
}
