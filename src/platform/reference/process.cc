// SPDX-License-Identifier: Apache-2.0
// The process and its threads (platform/process.h): a fork child is told by posix/fork_handler.h.
#include "platform/process.h"

#include "platform/object_format.h"
#include "platform/posix/fork_handler.h"

namespace memprof::platform {
namespace {

std::atomic<bool> g_is_sandboxed{false};  // relaxed: set by who loads the filter, before it does
std::atomic<uint32_t> g_last_thread{0};   // relaxed: only the numbers count
__thread uint32_t t_thread MEMPROF_TLS_MODEL;

}  // namespace

void reset_in_child() {
  reset_engine_in_child(nullptr);
}

bool is_sandboxed() {
  return g_is_sandboxed.load(std::memory_order_relaxed);
}
void set_sandboxed(bool sandboxed) {
  g_is_sandboxed.store(sandboxed, std::memory_order_relaxed);
}

// POSIX has no numbers for threads: in the order in which they were first asked for.
uint32_t thread_id() {
  if (is_sandboxed()) {
    return 0;
  }
  if (t_thread == 0) {
    t_thread = g_last_thread.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return t_thread;
}

uint64_t process_namespace() {
  return 0;
}
uint64_t process_start() {
  return 0;
}
uint64_t start_of_new_process() {
  return 0;
}
const char* program_path() {
  return "";
}
size_t program_arguments(char* /*text*/, size_t /*size_bytes*/) {
  return 0;
}
size_t process_name(char* /*text*/, size_t /*size_bytes*/) {
  return 0;
}
const char* arena_folder() {
  return "";
}

// Enough where a processor keeps the order of loads (x86-64).  A port to others needs the system to pass a
// barrier to every thread (membarrier, FlushProcessWriteBuffers).
void order_all_threads() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace memprof::platform
