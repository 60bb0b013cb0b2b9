// SPDX-License-Identifier: Apache-2.0
// Memory of known parts: 24 MB of blocks that are touched, 32 MiB that are not, 8 MB freed and kept (every second block
// of 16 MB), 3 MiB of a thread's stack, 5 MiB of shared memory, 6 MiB of a file, 7 MiB mapped by itself.  It uses three
// seconds of a processor, because memprof takes a share of what a program used to look at its memory.  Says "ready", and
// ends when its input does.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr size_t kMiB = 1 << 20;
constexpr size_t kBlock = 1000;

void* touch(void* memory, size_t size) {
  memset(memory, 1, size);
  return memory;
}

void* take_block() {
  return touch(malloc(kBlock), kBlock);
}

void map_file(size_t size, int fd) {
  if (ftruncate(fd, static_cast<off_t>(size)) == 0) {
    touch(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), size);
  }
}

void* use_stack(void* is_used) {
  volatile char room[3 * kMiB];
  for (size_t i = 0; i < sizeof(room); i += 4096) {
    room[i] = 1;
  }
  *static_cast<volatile bool*>(is_used) = true;
  for (;;) {
    pause();
  }
}

}  // namespace

void* g_kept[40000];  // NOLINT: what is kept must be seen by leak checkers

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  for (size_t i = 0; i < 40000; ++i) {
    g_kept[i] = take_block();
  }
  for (size_t i = 24000; i < 40000; i += 2) {
    free(g_kept[i]);
  }
  void* volatile untouched = malloc(32 * kMiB);
  static volatile bool is_used = false;
  pthread_t thread;
  if (untouched == nullptr || pthread_create(&thread, nullptr, use_stack, const_cast<bool*>(&is_used)) != 0) {
    return 1;
  }
  while (!is_used) {
    usleep(1000);
  }
  FILE* file = fopen(argv[1], "w+");
  map_file(6 * kMiB, fileno(file));
  map_file(5 * kMiB, memfd_create("parts", 0));
  touch(mmap(nullptr, 7 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 7 * kMiB);
  while (clock() < 3 * CLOCKS_PER_SEC) {
  }
  // The allocator is asked for its counts here at the latest: by now there is time for it on a busy machine, too.
  void* volatile last = malloc(kMiB);
  free(last);
  puts("ready");
  fflush(stdout);
  getchar();
  return 0;
}
