// SPDX-License-Identifier: Apache-2.0
// The sampler's state of each thread (platform/thread_slot.h), by a pthread key: libpthread keeps its value in the thread's
// own structure, so that asking for it and setting it allocate nothing.
//
// Model: states lie in chunks that live as long as the process.  A thread's is given back in the last round of the destructors
// of keys, as those of others may allocate; what it allocates after that is not sampled.
// Threads: a claim of a state is one compare-exchange.  Allocates: pages, a chunk at a time.
#include "platform/darwin/process/thread_data.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "core/sampling/sampler.h"
#include "platform/thread_slot.h"

namespace memprof::platform {
namespace {

struct alignas(64) ThreadState {
  uint8_t data[kThreadDataBytes + kThreadVariableBytes];
  uint32_t rounds;                 // of destructors that it has lived through
  std::atomic<uint32_t> is_taken;  // acquire, release
};
constexpr uint32_t kChunkStates = 128;
constexpr uint32_t kMaxChunks = 1024;

std::atomic<ThreadState*> g_chunks[kMaxChunks];  // acquire, release
std::atomic<uint32_t> g_first_free{0};           // relaxed; where to look first
std::atomic<bool> g_has_key{false};              // release, acquire
pthread_key_t g_key;
ThreadState g_shared;  // of threads that the system has no memory for, and before there is a key
ThreadState g_ended;   // of threads at their very end; muted

// The compiler's view of a thread-local variable with -femulated-tls.  All of the engine's begin as zeros.
struct ThreadVariable {
  size_t size_bytes;
  size_t alignment;
  std::atomic<size_t> end;  // in the memory of each thread; 0: it has no place yet
  const void* initial;
};
std::atomic<size_t> g_variables_end{0};      // relaxed
alignas(16) uint8_t g_shared_variable[256];  // of those that there is no room for

ThreadState* chunk_at(uint32_t index) {
  ThreadState* chunk = g_chunks[index].load(std::memory_order_acquire);
  if (chunk == nullptr) {
    constexpr size_t kBytes = kChunkStates * sizeof(ThreadState);
    void* made = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
      return nullptr;
    }
    if (g_chunks[index].compare_exchange_strong(chunk, static_cast<ThreadState*>(made),
                                                std::memory_order_acq_rel, std::memory_order_acquire)) {
      return static_cast<ThreadState*>(made);
    }
    munmap(made, kBytes);
  }
  return chunk;
}

ThreadState* take_state() {
  constexpr uint32_t kMax = kChunkStates * kMaxChunks;
  for (uint32_t i = g_first_free.load(std::memory_order_relaxed); i < kMax; ++i) {
    ThreadState* chunk = chunk_at(i / kChunkStates);
    if (chunk == nullptr) {
      return nullptr;
    }
    ThreadState* state = chunk + i % kChunkStates;
    uint32_t free = 0;
    if (state->is_taken.load(std::memory_order_relaxed) == 0 &&
        state->is_taken.compare_exchange_strong(free, 1, std::memory_order_acquire)) {
      g_first_free.store(i + 1, std::memory_order_relaxed);
      return state;
    }
  }
  // Behind where it was looked first there is nothing: from the beginning, once, next time.
  g_first_free.store(0, std::memory_order_relaxed);
  return nullptr;
}

void give_back(ThreadState* state) {
  memset(state->data, 0, sizeof(state->data));
  state->rounds = 0;
  state->is_taken.store(0, std::memory_order_release);
  g_first_free.store(0, std::memory_order_relaxed);
}

// libpthread has set the word to NULL before.
void end_thread(void* data) {
  auto* state = static_cast<ThreadState*>(data);
  if (state == &g_shared || state == &g_ended) {
    return;
  }
  if (++state->rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(g_key, data);
    return;
  }
  pthread_setspecific(g_key, &g_ended);
  give_back(state);
}

bool claim_key() {
  static std::atomic<bool> is_asked{false};
  if (!is_asked.exchange(true) && pthread_key_create(&g_key, end_thread) == 0) {
    auto* ended = reinterpret_cast<ThreadSampler*>(g_ended.data);
    ended->muted = 1;
    ended->count = kMutedCount;
    g_has_key.store(true, std::memory_order_release);
  }
  return g_has_key.load(std::memory_order_acquire);
}

}  // namespace

bool has_own_thread_data() {
  return claim_key();
}

void forget_other_threads() {
  const void* own = g_has_key.load(std::memory_order_relaxed) ? pthread_getspecific(g_key) : nullptr;
  for (std::atomic<ThreadState*>& chunk : g_chunks) {
    ThreadState* states = chunk.load(std::memory_order_relaxed);
    for (uint32_t i = 0; states != nullptr && i < kChunkStates; ++i) {
      if (states[i].is_taken.load(std::memory_order_relaxed) != 0 && states + i != own) {
        give_back(states + i);
      }
    }
  }
}

[[gnu::noinline]] void* make_thread_data() {
  if (!claim_key()) {
    return &g_shared;
  }
  ThreadState* state = take_state();
  if (state == nullptr) {
    state = take_state();  // from the beginning
  }
  state = state != nullptr ? state : &g_shared;
  pthread_setspecific(g_key, state);
  return state;
}

void* thread_data() {
  void* data = g_has_key.load(std::memory_order_relaxed) ? pthread_getspecific(g_key) : nullptr;
  return __builtin_expect(data != nullptr, 1) ? data : make_thread_data();
}

}  // namespace memprof::platform

// Where the compiler finds a thread-local variable: behind the sampler's state, without an allocation.
extern "C" __attribute__((visibility("hidden"))) void* __emutls_get_address(void* control) {
  using namespace memprof::platform;
  auto* variable = static_cast<ThreadVariable*>(control);
  const size_t room = (variable->size_bytes + 15) & ~size_t{15};
  size_t end = variable->end.load(std::memory_order_relaxed);
  if (end == 0) {
    const size_t made = g_variables_end.fetch_add(room, std::memory_order_relaxed) + room;
    // Where another thread was first, this place stays unused.
    end = variable->end.compare_exchange_strong(end, made, std::memory_order_relaxed) ? made : end;
  }
  return end <= kThreadVariableBytes ? static_cast<uint8_t*>(thread_data()) + kThreadDataBytes + end - room
                                     : g_shared_variable;
}
