// SPDX-License-Identifier: Apache-2.0
// A program with an allocator linked into it (jemalloc, tcmalloc).  It keeps blocks of which it knows the number and the
// bytes, all of them given by functions named keep_*, and says so: "truth BYTES COUNT".
//   inner_static          keeps blocks from one thread
//   inner_static free     frees them again, in every way
//   inner_static threads  four threads allocate and free all the time, and keep some
//   inner_static fork     a child allocates, and ends
//   inner_static throw    each operator new fails once
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

namespace {

constexpr size_t kBlocks = 1000;
constexpr size_t kAlignment = 64;
struct Kept {
  void* block;
  size_t size;
};
Kept g_kept[9][kBlocks];
size_t g_bytes;

void die(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(9);
}

__attribute__((noinline)) void* keep_malloc(size_t size) {
  return malloc(size);
}
__attribute__((noinline)) void* keep_calloc(size_t size) {
  return calloc(2, size / 2);
}
__attribute__((noinline)) void* keep_realloc(size_t size) {
  return realloc(malloc(size / 2 + 1), size);
}
__attribute__((noinline)) void* keep_posix(size_t size) {
  void* block = nullptr;
  return posix_memalign(&block, kAlignment, size) == 0 ? block : nullptr;
}
__attribute__((noinline)) void* keep_aligned(size_t size) {
  return aligned_alloc(kAlignment, size);
}
__attribute__((noinline)) void* keep_new(size_t size) {
  return operator new(size);
}
__attribute__((noinline)) void* keep_new_array(size_t size) {
  return operator new[](size);
}
__attribute__((noinline)) void* keep_new_aligned(size_t size) {
  return operator new(size, std::align_val_t(kAlignment));
}
__attribute__((noinline)) void* keep_nothrow(size_t size) {
  return operator new(size, std::nothrow);
}
using Keep = void* (*)(size_t);
const Keep kKeep[9] = {keep_malloc, keep_calloc,    keep_realloc,     keep_posix,  keep_aligned,
                       keep_new,    keep_new_array, keep_new_aligned, keep_nothrow};

void keep_all() {
  for (size_t way = 0; way < 9; ++way) {
    for (size_t i = 0; i < kBlocks; ++i) {
      const size_t size = 64 * (1 + (i * 7 + way) % 100);
      void* block = kKeep[way](size);
      if (block == nullptr) die("no memory");
      memset(block, 1, size);
      g_kept[way][i] = {block, size};
      g_bytes += size;
    }
  }
}

void free_all() {
  for (size_t i = 0; i < kBlocks; ++i) {
    for (size_t way = 0; way < 5; ++way) free(g_kept[way][i].block);
    operator delete(g_kept[5][i].block, g_kept[5][i].size);
    operator delete[](g_kept[6][i].block);
    operator delete(g_kept[7][i].block, std::align_val_t(kAlignment));
    operator delete(g_kept[8][i].block, std::nothrow);
  }
}

void* work(void* argument) {
  unsigned seed = 1 + static_cast<unsigned>(reinterpret_cast<size_t>(argument));
  void* blocks[64] = {};
  for (int i = 0; i < 30000; ++i) {
    const size_t at = static_cast<size_t>(rand_r(&seed)) % 64;
    free(blocks[at]);
    blocks[at] = malloc(1 + static_cast<size_t>(rand_r(&seed)) % 2000);
  }
  for (void* block : blocks) free(block);
  return nullptr;
}

void fork_child() {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 1000; ++i) free(malloc(100 + static_cast<size_t>(i)));
    free_all();
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) die("the child failed");
}

int count_thrown() {
  volatile size_t too_much = static_cast<size_t>(1) << 61;
  int thrown = 0;
  for (int i = 0; i < 100; ++i) {
    try {
      keep_new(too_much);
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    try {
      keep_new_aligned(too_much);
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    thrown += keep_nothrow(too_much) == nullptr;
  }
  return thrown;
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  keep_all();
  if (strcmp(what, "free") == 0) {
    free_all();
    printf("truth 0 0\n");
    return 0;
  }
  if (strcmp(what, "threads") == 0) {
    pthread_t threads[4];
    for (size_t i = 0; i < 4; ++i) pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i));
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
  }
  if (strcmp(what, "fork") == 0) fork_child();
  if (strcmp(what, "throw") == 0 && count_thrown() != 300) die("not all of them failed");
  printf("truth %zu %zu\n", g_bytes, 9 * kBlocks);
  return 0;
}
