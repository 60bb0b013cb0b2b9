// SPDX-License-Identifier: Apache-2.0
// The rest of libSystem that our library and the test programs import: numbers, flags and structures of macOS on one side, Linux on
// the other.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "loader.h"

extern int g_loader_yields;
extern char __start_sim_malloc_text[], __stop_sim_malloc_text[], __executable_start[],
    etext[];  // made by the linker

uint32_t mac_mach_task_self_ = 1;
uint64_t mac_vm_page_size = 4096;
char** mac_environ;

// What is the same on both.
static const char* const kSame[] = {"memcpy",
                                    "memset",
                                    "memmove",
                                    "memcmp",
                                    "memchr",
                                    "strlen",
                                    "strnlen",
                                    "strcmp",
                                    "strncmp",
                                    "strchr",
                                    "strrchr",
                                    "strerror",
                                    "getenv",
                                    "read",
                                    "write",
                                    "writev",
                                    "close",
                                    "unlink",
                                    "rename",
                                    "link",
                                    "access",
                                    "getpid",
                                    "getuid",
                                    "geteuid",
                                    "getgid",
                                    "getegid",
                                    "getentropy",
                                    "ftruncate",
                                    "fchmod",
                                    "pread",
                                    "pwrite",
                                    "sched_yield",
                                    "pthread_self",
                                    "pthread_join",
                                    "pthread_key_create",
                                    "pthread_key_delete",
                                    "pthread_getspecific",
                                    "pthread_setspecific",
                                    "fork",
                                    "_exit",
                                    "usleep",
                                    "abort",
                                    "sigemptyset",
                                    "waitpid",
                                    "kill",
                                    "munmap",
                                    "mprotect",
                                    "bzero"};

void* find_simulated(const char* name) {
  char own[300];
  const char* plain = name[0] == '_' ? name + 1 : name;
  snprintf(own, sizeof(own), "mac_%.*s", (int)strcspn(plain, "$"), plain);
  void* found = dlsym(RTLD_DEFAULT, own);
  for (size_t i = 0; found == NULL && i < sizeof(kSame) / sizeof(*kSame); ++i) {
    if (strcmp(kSame[i], own + 4) == 0) found = dlsym(RTLD_DEFAULT, kSame[i]);
  }
  return found;
}

// Images.

struct announced {
  const char* path;
  char* header;
  int64_t slide;
};
enum { kMaxAnnounced = 64 };
static struct announced g_announced[kMaxAnnounced];
static int g_announced_count;
typedef void image_callback(const void*, intptr_t);
static image_callback* g_add;
static image_callback* g_remove;

static void announce(const char* path, char* header, int64_t slide) {
  g_announced[g_announced_count++] = (struct announced){path, header, slide};
  if (g_add != NULL) g_add(header, slide);
}

// This program's code stands for libSystem's: a header that says where it lies.
static void announce_text(const char* path, char* start, char* end) {
  struct {
    uint32_t header[8];
    uint32_t command, size;
    char name[16];
    uint64_t vmaddr, vmsize, fileoff, filesize;
    uint32_t rest[4];
  }* made = calloc(1, sizeof(*made));
  made->header[0] = 0xfeedfacf;
  made->header[4] = 1;
  made->header[5] = made->size = sizeof(*made) - sizeof(made->header);
  made->command = 0x19;
  strcpy(made->name, "__TEXT");
  made->vmsize = (uint64_t)(end - start);
  announce(path, (char*)made, (int64_t)start);
}

void announce_image(const struct image* image) {
  if (g_announced_count == 0) {
    announce_text("/usr/lib/system/libsystem_malloc.dylib", __start_sim_malloc_text, __stop_sim_malloc_text);
    announce_text("/usr/lib/system/libsystem_pthread.dylib", __executable_start, etext);
    mac_environ = environ;
    g_loader_yields = getenv("MEMPROF_LOADER_YIELD") != NULL;
  }
  announce(image->path, image->base, image->slide);
}
void retire_image(const struct image* image) {
  for (int i = 0; i < g_announced_count; ++i) {
    if (g_announced[i].header == image->base && g_remove != NULL) g_remove(image->base, image->slide);
  }
}
void mac__dyld_register_func_for_add_image(image_callback* add) {
  g_add = add;
  for (int i = 0; i < g_announced_count; ++i) add(g_announced[i].header, g_announced[i].slide);
}
void mac__dyld_register_func_for_remove_image(image_callback* remove) {
  g_remove = remove;
}
int mac_dladdr(const void* address, Dl_info* info) {
  for (int i = 0; i < g_announced_count; ++i) {
    if (g_announced[i].header == address) {
      *info = (Dl_info){g_announced[i].path, (void*)address, NULL, NULL};
      return 1;
    }
  }
  return 0;
}
void* mac_dlsym(void* handle, const char* name) {
  (void)handle, (void)name;
  return NULL;
}
int mac__NSGetExecutablePath(char* path, uint32_t* size) {
  const char* program = g_announced_count > 2 ? g_announced[2].path : "";
  if (strlen(program) >= *size) return -1;
  strcpy(path, program);
  return 0;
}
void mac_dyld_stub_binder(void) {
  abort();
}  // all is bound before

// The end of the process.

struct at_exit {
  void (*function)(void*);
  void* argument;
};
static struct at_exit g_at_exit[64];
static int g_at_exit_count;
int mac___cxa_atexit(void (*function)(void*), void* argument, void* library) {
  (void)library;
  if (g_at_exit_count == 64) return -1;
  g_at_exit[g_at_exit_count++] = (struct at_exit){function, argument};
  return 0;
}
void run_exit_functions(void) {
  while (g_at_exit_count > 0) {
    const struct at_exit last = g_at_exit[--g_at_exit_count];
    last.function(last.argument);
  }
}
void mac_exit(int status) {
  run_exit_functions();
  _exit(status);
}

// Threads: the first frame of each has no caller, as libpthread makes it.

#if defined(__x86_64__)
__asm__(
    ".globl call_with_first_frame\n.type call_with_first_frame,@function\ncall_with_first_frame:\n"
    "pushq %rbp\nmovq %rdi, %rax\nmovq %rsi, %rdi\nxorl %ebp, %ebp\ncallq *%rax\npopq %rbp\nretq\n");
#else
__asm__(
    ".globl call_with_first_frame\n.type call_with_first_frame,%function\ncall_with_first_frame:\n"
    "stp x29, x30, [sp, #-16]!\nmov x9, x0\nmov x0, x1\nmov x29, #0\nblr x9\nldp x29, x30, [sp], #16\nret\n");
#endif
struct thread_start {
  void* (*function)(void*);
  void *argument, *result;
};
static int run_in_first_frame(void* context) {
  struct thread_start* start = context;
  start->result = start->function(start->argument);
  return 0;
}
static void* run_thread(void* context) {
  struct thread_start start = *(struct thread_start*)context;
  free(context);
  call_with_first_frame(run_in_first_frame, &start);
  return start.result;
}
int mac_pthread_create(pthread_t* thread, const void* attributes, void* (*function)(void*), void* argument) {
  if (attributes != NULL) abort();
  struct thread_start* start = malloc(sizeof(*start));
  *start = (struct thread_start){function, argument, NULL};
  return pthread_create(thread, NULL, run_thread, start);
}
static __thread uint64_t t_low, t_high;
static void find_stack(void) {
  if (t_high != 0) return;
  pthread_attr_t attributes;
  void* low;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  t_low = (uint64_t)low;
  t_high = t_low + size;
}
void* mac_pthread_get_stackaddr_np(pthread_t thread) {
  (void)thread;
  find_stack();
  return (void*)t_high;
}
size_t mac_pthread_get_stacksize_np(pthread_t thread) {
  (void)thread;
  find_stack();
  return t_high - t_low;
}
int mac_pthread_threadid_np(pthread_t thread, uint64_t* id) {
  (void)thread;
  *id = (uint64_t)syscall(SYS_gettid);
  return 0;
}

// Files and memory.

int* mac___error(void) {
  return &errno;
}

static int linux_open_flags(int flags) {
  int linux_flags = flags & 3;
  static const int kPairs[][2] = {{0x4, O_NONBLOCK},     {0x100, O_NOFOLLOW}, {0x200, O_CREAT},
                                  {0x400, O_TRUNC},      {0x800, O_EXCL},     {0x20000, O_NOCTTY},
                                  {0x1000000, O_CLOEXEC}};
  for (size_t i = 0; i < sizeof(kPairs) / sizeof(*kPairs); ++i)
    linux_flags |= (flags & kPairs[i][0]) != 0 ? kPairs[i][1] : 0;
  return linux_flags;
}
__attribute__((used)) int sim_open(const char* path, int flags, int mode) {
  return open(path, linux_open_flags(flags), mode);
}
#if defined(__x86_64__)
int mac_open(const char* path, int flags, int mode) {
  return sim_open(path, flags, mode);
}
#else  // arguments of `...` lie on the stack there
__asm__(".globl mac_open\n.type mac_open,%function\nmac_open:\nldr w2, [sp]\nb sim_open\n");
#endif
void* mac_mmap(void* start, size_t size, int protection, int flags, int file, off_t offset) {
  const int linux_flags = (flags & 0x13) | ((flags & 0x1000) != 0 ? MAP_ANONYMOUS : 0) |
                          ((flags & 0x40) != 0 ? MAP_NORESERVE : 0);
  return mmap(start, size, protection, linux_flags, file, offset);
}
static int give_status(int result, const struct stat* from, char* to) {
  if (result != 0) return result;
  memset(to, 0, 144);
  const uint16_t mode = (uint16_t)from->st_mode, links = (uint16_t)from->st_nlink;
  const uint64_t inode = from->st_ino, size = (uint64_t)from->st_size;
  const uint32_t user = from->st_uid, group = from->st_gid;
  memcpy(to + 4, &mode, 2);
  memcpy(to + 6, &links, 2);
  memcpy(to + 8, &inode, 8);
  memcpy(to + 16, &user, 4);
  memcpy(to + 20, &group, 4);
  memcpy(to + 96, &size, 8);
  return 0;
}
int mac_fstat(int file, char* to) {
  struct stat status;
  return give_status(fstat(file, &status), &status, to);
}
int mac_lstat(const char* path, char* to) {
  struct stat status;
  return give_status(lstat(path, &status), &status, to);
}
int mac_mach_vm_read_overwrite(uint32_t task, uint64_t address, uint64_t size, uint64_t copy,
                               uint64_t* copied) {
  (void)task;
  const struct iovec to = {(void*)copy, size}, from = {(void*)address, size};
  const long got = syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0);
  *copied = got > 0 ? (uint64_t)got : 0;
  return got == (long)size ? 0 : 1;
}
int mac_task_info(void) {
  return 5;
}  // KERN_FAILURE

// The process.

int mac_issetugid(void) {
  return 0;
}
int mac_sysctl(const int* name, unsigned count, char* to, size_t* size, void* from, size_t from_size) {
  (void)from, (void)from_size;
  if (count == 4 && name[0] == 1 && name[1] == 14 && *size >= 648) {  // KERN_PROC: when it began, at first
    const int64_t seconds = 1700000000 + getpid();
    memset(to, 0, 648);
    memcpy(to, &seconds, 8);
    *size = 648;
    return 0;
  }
  errno = ENOENT;
  return -1;
}
int mac_clock_gettime(int clock, struct timespec* time) {
  return clock_gettime(clock == 4 || clock == 6 || clock == 8 ? CLOCK_MONOTONIC
                       : clock == 12                          ? CLOCK_PROCESS_CPUTIME_ID
                       : clock == 16                          ? CLOCK_THREAD_CPUTIME_ID
                                                              : CLOCK_REALTIME,
                       time);
}
int mac_sigaltstack(const void* stack, void* old) {
  (void)stack;
  if (old != NULL) memset(old, 0, 24);
  return 0;
}
// struct sigaction there: handler, mask of 4 bytes, flags.
struct mac_action {
  void (*handler)(int);
  uint32_t mask;
  int flags;
};
static int linux_signal(int number) {
  return number == 30 ? SIGUSR1 : number == 31 ? SIGUSR2 : number;
}
int mac_sigaction(int number, const struct mac_action* action, struct mac_action* old) {
  struct sigaction now = {0}, before;
  if (action != NULL) now.sa_handler = action->handler;
  const int result = sigaction(linux_signal(number), action != NULL ? &now : NULL, &before);
  if (old != NULL) *old = (struct mac_action){before.sa_handler, 0, 0};
  return result;
}
void mac___bzero(void* start, size_t size) {
  memset(start, 0, size);
}
void* mac___memcpy_chk(void* to, const void* from, size_t size, size_t room) {
  if (size > room) abort();
  return memcpy(to, from, size);
}
void mac_memset_pattern16(char* to, const char* pattern, size_t size) {
  for (size_t i = 0; i < size; ++i) to[i] = pattern[i % 16];
}
int mac_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  return pthread_atfork(prepare, parent, child);
}
