// SPDX-License-Identifier: Apache-2.0
// The sampler's state of each thread (platform/thread_slot.h), in a slot of TlsAlloc: a word of the thread's environment
// block, which is 0 in a new thread, before any DLL is told of it.
//
// Model: the states lie in chunks that live as long as the process.  A state stays its thread's to the end, as the last DLLs
// that are told of the end allocate, too; so nobody is told, and where the states are all in use, those of threads that are
// gone are given away.
// Threads: a claim of a state is one compare-exchange of its owner.  Allocates: pages, 64 KiB at a time.
#include <atomic>
#include <cstring>

#include "platform/thread_slot.h"
#include "platform/windows/process/thread_data.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

struct ThreadState {
  alignas(16) uint8_t data[kThreadDataBytes + kThreadVariableBytes];
  std::atomic<uint32_t> owner;  // a thread's id; 0: nobody's
};

constexpr uint32_t kChunkStates = 128;
constexpr uint32_t kMaxChunks = 1024;

std::atomic<ThreadState*> g_chunks[kMaxChunks];  // acquire, release
std::atomic<uint32_t> g_taken{0};                // states below it have, or had, an owner; relaxed
alignas(64) uint8_t
    g_shared[kThreadDataBytes + kThreadVariableBytes];  // of all threads that the system has no memory for

bool claim_word() {
  static std::atomic<bool> is_asked{false};
  if (g_thread_word_offset == 0 && !is_asked.exchange(true)) {
    const uint32_t slot = TlsAlloc();
    if (slot < kThreadWordCount) {
      g_thread_word_offset = kThreadWords + slot * sizeof(uint64_t);
    }
  }
  return g_thread_word_offset != 0;
}

ThreadState* state_at(uint32_t index) {
  std::atomic<ThreadState*>& chunk = g_chunks[index / kChunkStates];
  ThreadState* states = chunk.load(std::memory_order_acquire);
  if (states == nullptr) {
    auto made = static_cast<ThreadState*>(
        VirtualAlloc(nullptr, kChunkStates * sizeof(ThreadState), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
    if (made == nullptr) {
      return nullptr;
    }
    if (chunk.compare_exchange_strong(states, made, std::memory_order_acq_rel)) {
      states = made;
    } else {
      VirtualFree(made, 0, MEM_RELEASE);
    }
  }
  return states + index % kChunkStates;
}

// An id may be a new thread's, which keeps the state of the old one from being given away, no more.
bool is_gone(uint32_t thread) {
  const HANDLE handle = OpenThread(SYNCHRONIZE, FALSE, thread);
  if (handle == nullptr) {
    return GetLastError() == ERROR_INVALID_PARAMETER;
  }
  const bool ended = WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
  CloseHandle(handle);
  return ended;
}

ThreadState* take_from_the_dead(uint32_t own, uint32_t count) {
  for (uint32_t index = 0; index < count; ++index) {
    ThreadState* state = state_at(index);
    uint32_t owner = state != nullptr ? state->owner.load(std::memory_order_relaxed) : 0;
    if (owner != 0 && owner != own && is_gone(owner) &&
        state->owner.compare_exchange_strong(owner, own, std::memory_order_acq_rel)) {
      memset(state->data, 0, sizeof(state->data));
      return state;
    }
  }
  return nullptr;
}

ThreadState* take_state(uint32_t own) {
  const uint32_t taken = g_taken.load(std::memory_order_relaxed);
  if (taken != 0 && taken % kChunkStates == 0) {
    if (ThreadState* state = take_from_the_dead(own, taken)) {
      return state;
    }
  }
  const uint32_t index = g_taken.fetch_add(1, std::memory_order_relaxed);
  if (index >= kChunkStates * kMaxChunks) {
    g_taken.store(kChunkStates * kMaxChunks, std::memory_order_relaxed);
    return nullptr;
  }
  ThreadState* state = state_at(index);
  if (state != nullptr) {
    state->owner.store(own, std::memory_order_release);
  }
  return state;
}

}  // namespace

size_t g_thread_word_offset = 0;

bool has_own_thread_data() {
  return claim_word();
}

[[gnu::noinline]] void* make_thread_data() {
  if (!claim_word()) {
    return g_shared;
  }
  if (const uint64_t there = thread_block_word(g_thread_word_offset)) {
    return reinterpret_cast<void*>(there);
  }
  const auto error = static_cast<DWORD>(thread_block_word(kLastError));
  ThreadState* state = take_state(static_cast<uint32_t>(thread_block_word(kThreadId)));
  SetLastError(error);
  void* data = state != nullptr ? state->data : g_shared;
  asm volatile("movq %0, %%gs:(%1)" ::"r"(data), "r"(g_thread_word_offset) : "memory");
  return data;
}

}  // namespace memprof::platform
