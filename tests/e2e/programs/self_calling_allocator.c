// SPDX-License-Identifier: Apache-2.0
// A preloaded allocator that calls malloc itself with its lock held, as tcmalloc's debugging allocator does, and that
// counts as tcmalloc does.  Asked for its counts by a thread that holds the lock, it ends the process, which would
// wait for itself.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void* __libc_malloc(size_t size);
void __libc_free(void* block);

enum { kEach = 16, kOwnBytes = 64000 };

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int t_has_lock;
static __thread unsigned t_calls;

// By way of the hooks in front of this library.
static void keep_books(void) {
  if (t_has_lock || ++t_calls % kEach != 0) return;
  pthread_mutex_lock(&g_lock);
  t_has_lock = 1;
  free(malloc(kOwnBytes));
  t_has_lock = 0;
  pthread_mutex_unlock(&g_lock);
}

void* malloc(size_t size) {
  keep_books();
  return __libc_malloc(size);
}

void free(void* block) {
  __libc_free(block);
}

int MallocExtension_GetNumericProperty(const char* name, size_t* value) {
  if (t_has_lock) _exit(9);
  pthread_mutex_lock(&g_lock);
  pthread_mutex_unlock(&g_lock);
  *value = strcmp(name, "generic.current_allocated_bytes") == 0 ? 1000 : 2000;
  return 1;
}
