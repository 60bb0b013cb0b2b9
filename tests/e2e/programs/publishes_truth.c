// SPDX-License-Identifier: Apache-2.0
// Allocates and frees at known sites until it is killed, and publishes the truth about each of them in a
// small shared file, which outlives it.  For each figure there are two words, which hold what it is before
// and after the operation that is under way: whenever the process ends, the truth is one of the two.
//
// Argument: the file.  Two threads, four sites each; a site has one thread, so that its words have one
// writer.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "truth.h"

enum { kThreads = 2, kSitesOfThread = 4, kSites = kThreads * kSitesOfThread, kMaxLive = 3000 };

// As tests/e2e/killed_test.py reads it.  Stores of one thread reach the file in their order.
struct Figure {
  volatile uint64_t now;
  volatile uint64_t next;
};
struct Truth {
  struct Figure live_bytes, live_blocks, allocated_bytes, allocated_blocks;
};

static struct Truth* g_truth;

#define SITE_OF(number)                   \
  SITE void* site_##number(size_t size) { \
    return keep(malloc(opaque(size)));    \
  }
SITE_OF(0)
SITE_OF(1)
SITE_OF(2)
SITE_OF(3)
SITE_OF(4)
SITE_OF(5)
SITE_OF(6)
SITE_OF(7)

static void* (*const kSiteFunctions[kSites])(size_t) = {site_0, site_1, site_2, site_3,
                                                        site_4, site_5, site_6, site_7};

struct Block {
  void* start;
  size_t size;
};

static void announce(struct Figure* figure, int64_t change) {
  figure->next = figure->now + (uint64_t)change;
}

static void settle(struct Figure* figure) {
  figure->now = figure->next;
}

static void allocate(int site, struct Block* block, size_t size) {
  struct Truth* truth = &g_truth[site];
  announce(&truth->live_bytes, (int64_t)size);
  announce(&truth->live_blocks, 1);
  announce(&truth->allocated_bytes, (int64_t)size);
  announce(&truth->allocated_blocks, 1);
  block->start = kSiteFunctions[site](size);
  block->size = size;
  settle(&truth->live_bytes);
  settle(&truth->live_blocks);
  settle(&truth->allocated_bytes);
  settle(&truth->allocated_blocks);
}

static void release(int site, struct Block* block) {
  struct Truth* truth = &g_truth[site];
  announce(&truth->live_bytes, -(int64_t)block->size);
  announce(&truth->live_blocks, -1);
  free(block->start);
  block->start = NULL;
  settle(&truth->live_bytes);
  settle(&truth->live_blocks);
}

static struct Block g_blocks[kSites][kMaxLive];

__attribute__((noreturn)) static void run(int number) {
  const int first = number * kSitesOfThread;
  uint64_t random = 0x9e3779b97f4a7c15u + (uint64_t)first;
  for (;;) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const int site = first + (int)(random >> 60) % kSitesOfThread;
    struct Block* block = &g_blocks[site][(random >> 30) % kMaxLive];
    if (block->start != NULL) {
      release(site, block);
    } else {
      // Each site has sizes of its own, up to twice the least of them: small blocks that are never sampled
      // beside large ones that are would be missing in every count (docs/decisions/0007).
      const uint64_t min = UINT64_C(32) << site;
      allocate(site, block, min + (random >> 10) % min);
    }
  }
}

static void* run_thread(void* unused) {
  (void)unused;
  run(1);
}

int main(int argc, char** argv) {
  if (argc != 2) die("usage: publishes_truth FILE");
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, kSites * sizeof(struct Truth)) != 0) die("the file of the truth");
  g_truth = mmap(NULL, kSites * sizeof(struct Truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (g_truth == MAP_FAILED) die("mmap");
  close(fd);
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_thread, NULL) != 0) die("pthread_create");
  run(0);
}
