// SPDX-License-Identifier: Apache-2.0
// Maps memory in every way there is, each in a function of its own, and says what each of them holds in the end:
//     truth FUNCTION MAPPED_BYTES RESIDENT_BYTES
// and what the kernel says of all of it: "smaps ANONYMOUS_BYTES".
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PAGE ((size_t)4096)
#define SITE __attribute__((noinline))

static void check(int is_right, const char* what) {
  if (!is_right) {
    fprintf(stderr, "wrong: %s (errno %d)\n", what, errno);
    _exit(9);
  }
}

__attribute__((always_inline)) static inline char* map(void* place, size_t size, int protection, int flags) {
  char* got = mmap(place, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  check(got != MAP_FAILED, "mmap");
  madvise(got, size, MADV_NOHUGEPAGE);  // so that what is resident is what is touched
  return got;
}

static char* early;
__attribute__((constructor(101), noinline)) static void in_constructor(void) {
  early = map(NULL, 4 * MIB, PROT_READ | PROT_WRITE, 0);
  memset(early, 1, MIB);
}

SITE static char* plain(size_t size) {
  return map(NULL, size, PROT_READ | PROT_WRITE, 0);
}

SITE static char* reserve(size_t size) {
  return map(NULL, size, PROT_NONE, MAP_NORESERVE);
}

// As the JVM does: over its own reservation.
SITE static void commit(char* place, size_t size) {
  check(map(place, size, PROT_READ | PROT_WRITE, MAP_FIXED) == place, "MAP_FIXED");
}

SITE static char* grow(char* old, size_t old_size, size_t new_size) {
  char* got = mremap(old, old_size, new_size, MREMAP_MAYMOVE);
  check(got != MAP_FAILED, "mremap");
  return got;
}

SITE static void map_file_over(char* place, size_t size) {
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  check(fd >= 0 && mmap(place, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == place, "file");
  close(fd);
}

SITE static void* move_break(intptr_t size) {
  void* before = sbrk(size);
  check(before != (void*)-1, "sbrk");
  return before;
}

SITE static char* shared(size_t size) {
  char* got = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(got != MAP_FAILED, "shared");
  return got;
}

static char* volatile of_handler;
static void handler(int number) {
  (void)number;
  of_handler = map(NULL, 3 * MIB, PROT_READ | PROT_WRITE, 0);
}

SITE static void* churn(void* unused) {
  (void)unused;
  for (int i = 0; i < 2000; ++i) {
    char* p = map(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, 0);
    check(munmap(p + 4 * PAGE, 4 * PAGE) == 0 && munmap(p, 16 * PAGE) == 0, "munmap");
  }
  return NULL;
}

static void check_errors(void) {
  errno = 0;
  check(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL,
        "size 0");
  errno = 0;
  check(munmap((void*)1, PAGE) == -1 && errno == EINVAL, "munmap of what begins nowhere");
  errno = 0;
  check(mremap((void*)PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT,
        "mremap of nothing");
  errno = 0;
  check(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF, "no file");
  errno = 77;
  char* p = plain(PAGE);
  check(munmap(p, PAGE) == 0 && errno == 77, "errno is kept");
  // brk to where it is.
  check(brk(sbrk(0)) == 0, "brk");
}

// Private memory that is no part of a file, of all areas.
static size_t anonymous_bytes(void) {
  FILE* file = fopen("/proc/self/smaps", "re");
  size_t sum = 0;
  unsigned long kilobytes;
  for (char line[4096]; fgets(line, sizeof(line), file) != NULL;) {
    sum += sscanf(line, "Anonymous: %lu kB", &kilobytes) == 1 ? kilobytes * 1024 : 0;
  }
  fclose(file);
  return sum;
}

int main(int count, char** arguments) {
  check_errors();
  char* a = plain(32 * MIB);
  memset(a, 1, 20 * MIB);
  check(munmap(a + 8 * MIB, 8 * MIB) == 0, "munmap");  // of plain, 12 of 24 are left
  char* r = reserve(1024 * MIB);
  commit(r + 64 * MIB, 16 * MIB);
  memset(r + 64 * MIB, 1, 5 * MIB);
  check(mprotect(r + 512 * MIB, 8 * MIB, PROT_READ | PROT_WRITE) == 0, "mprotect");
  memset(r + 512 * MIB, 1, 2 * MIB);
  map_file_over(r + 900 * MIB, 4 * PAGE);
  char* g = plain(2 * MIB);
  memset(g, 1, 2 * MIB);
  g = grow(g, 2 * MIB, 6 * MIB);
  memset(g, 2, 3 * MIB);
  char* dropped = plain(10 * MIB);
  memset(dropped, 1, 10 * MIB);
  check(madvise(dropped, 10 * MIB, MADV_DONTNEED) == 0, "madvise");
  move_break((intptr_t)MIB);
  move_break(-(intptr_t)MIB / 2);
  char* s = shared(5 * MIB);
  memset(s, 1, 2 * MIB);

  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  memset(of_handler, 1, MIB);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) check(pthread_create(&threads[i], NULL, churn, NULL) == 0, "thread");
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);

  const pid_t child = fork();
  if (child == 0) {
    memset(plain(50 * MIB), 1, MIB);
    munmap(a, 8 * MIB);  // its own
    _exit(0);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && status == 0, "child");
  if (count > 1 && strcmp(arguments[1], "many") == 0) {
    // More than the table has room for, none beside another of its stack: each second page of a reservation.
    const int many = atoi(arguments[2]);
    char* all = reserve((size_t)many * 2 * PAGE);
    for (int i = 0; i < many; ++i) commit(all + (size_t)i * 2 * PAGE, PAGE);
  }

  printf("truth in_constructor %zu %zu\n", 4 * MIB, MIB);
  printf("truth plain %zu %zu\n", 24 * MIB + 2 * MIB + 10 * MIB, 12 * MIB + 2 * MIB);
  printf("truth reserve %zu %zu\n", 1024 * MIB - 16 * MIB - 4 * PAGE, 2 * MIB);
  printf("truth commit %zu %zu\n", 16 * MIB, 5 * MIB);
  printf("truth grow %zu %zu\n", 4 * MIB, MIB);
  printf("truth shared %zu %zu\n", 5 * MIB, 2 * MIB);
  printf("truth move_break %zu %zu\n", MIB / 2, (size_t)0);
  printf("truth handler %zu %zu\n", 3 * MIB, MIB);
  printf("smaps %zu\n", anonymous_bytes());
  fflush(stdout);
  return 0;
}
