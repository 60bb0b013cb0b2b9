// SPDX-License-Identifier: Apache-2.0
// Memory that no block is, or only by name: usage unseen_parts zeros|image|mapped|killed.
//   zeros    32 MiB of a block that is read and never written, 16 MiB of one that is
//   image    60 MiB right behind a private mapping of a file that is no ELF file
//   mapped   60 MiB that the program maps itself
//   killed   the same, and the program is killed
// Says "ready", and ends when its input does.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

volatile long sum;
char* volatile kept[2];

static char* zeroed_and_read(size_t size) {
  char* const block = calloc(1, size);
  for (size_t i = 0; i < size; i += 4096) sum += block[i];
  return block;
}

static char* zeroed_and_written(size_t size) {
  char* const block = calloc(1, size);
  for (size_t i = 0; i < size; i += 4096) block[i] = 1;
  return block;
}

static void* map(void* at, size_t size, int protection, int flags, int fd) {
  void* const memory = mmap(at, size, protection, MAP_PRIVATE | flags, fd, 0);
  if (memory == MAP_FAILED) exit(2);
  return memory;
}

static void map_behind_image(size_t size) {
  char name[] = "imageXXXXXX";
  const int fd = mkstemp(name);
  if (fd < 0 || ftruncate(fd, 65536) != 0) exit(2);
  unlink(name);
  char* const at = map(NULL, size + 65536, PROT_NONE, MAP_ANONYMOUS | MAP_NORESERVE, -1);
  map(at, 65536, PROT_READ | PROT_WRITE, MAP_FIXED, fd);
  map(at + 65536, size, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_ANONYMOUS, -1);
  memset(at, 1, size + 65536);
}

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "";
  if (strcmp(way, "zeros") == 0) {
    kept[0] = zeroed_and_read(32 * MIB);
    kept[1] = zeroed_and_written(16 * MIB);
  } else {
    if (strcmp(way, "image") == 0) {
      map_behind_image(60 * MIB);
    } else {
      memset(map(NULL, 60 * MIB, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1), 1, 60 * MIB);
    }
    kept[0] = zeroed_and_written(3 * MIB);
  }
  if (strcmp(way, "killed") == 0) kill(getpid(), SIGKILL);
  puts("ready");
  fflush(stdout);
  getchar();
  return 0;
}
