// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include <atomic>

#include "core/mappings/mappings.h"
#include "core/sampling/sampler.h"
#include "platform/linux/interpose/absent.h"
#include "platform/linux/interpose/behind_operators.h"
#include "platform/linux/interpose/bootstrap.h"
#include "platform/linux/interpose/hook_table.h"
#include "platform/linux/interpose/nested.h"
#include "platform/linux/libc/c_library.h"
#include "platform/linux/modules/dynamic_section.h"
#include "platform/linux/modules/elf_image.h"
#include "platform/process.h"

namespace memprof::interpose {
namespace {

enum : int { kUnresolved, kResolving, kResolved };
std::atomic<int> g_stage{kUnresolved};

bool is_resolved() {
  return g_stage.load(std::memory_order_acquire) == kResolved;
}

// The stubs: what the table points to at first.
void* first_malloc(size_t size) {
  resolve();
  return is_resolved() ? g_real.malloc(size) : bootstrap_allocate(size, 1);
}

void first_free(void* block) {
  resolve();
  if (is_resolved() && !is_bootstrap(block)) {
    g_real.free(block);
  }
}

void* first_calloc(size_t count, size_t size) {
  resolve();
  if (is_resolved()) {
    return g_real.calloc(count, size);
  }
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return bootstrap_allocate(bytes, 1);
}

void* first_realloc(void* block, size_t size) {
  resolve();
  if (is_resolved()) {
    return g_real.realloc(block, size);
  }
  if (block != nullptr && !is_bootstrap(block)) {
    while (!is_resolved()) {  // the table is being published: a few stores
      platform::yield_thread();
    }
    return g_real.realloc(block, size);
  }
  void* moved = bootstrap_allocate(size, 1);
  if (moved != nullptr && block != nullptr) {
    const size_t old = bootstrap_size(block);
    memcpy(moved, block, old < size ? old : size);
  }
  return moved;
}

int first_posix_memalign(void** block, size_t alignment, size_t size) {
  resolve();
  if (is_resolved()) {
    return g_real.posix_memalign(block, alignment, size);
  }
  void* p = bootstrap_allocate(size, alignment);
  if (p == nullptr) {
    return ENOMEM;
  }
  *block = p;
  return 0;
}

void* first_aligned_alloc(size_t alignment, size_t size) {
  resolve();
  return is_resolved() ? g_real.aligned_alloc(alignment, size) : bootstrap_allocate(size, alignment);
}

void* first_memalign(size_t alignment, size_t size) {
  resolve();
  return is_resolved() ? g_real.memalign(alignment, size) : bootstrap_allocate(size, alignment);
}

void* first_valloc(size_t size) {
  resolve();
  return is_resolved() ? g_real.valloc(size) : bootstrap_allocate(size, 4096);
}

void* first_pvalloc(size_t size) {
  resolve();
  return is_resolved() ? g_real.pvalloc(size) : bootstrap_allocate((size + 4095) & ~size_t{4095}, 4096);
}

size_t first_malloc_usable_size(void* block) {
  resolve();
  return is_resolved() ? g_real.malloc_usable_size(block) : 0;
}

void first_free_sized(void* block, size_t) {
  first_free(block);
}
void first_free_aligned_sized(void* block, size_t, size_t) {
  first_free(block);
}

// Until it is known who is in front.  Not seen: one call.
void* first_front_realloc(void* block, size_t size) {
  resolve();
  const auto front = __atomic_load_n(&g_front.realloc, __ATOMIC_ACQUIRE);
  return (front != nullptr && front != first_front_realloc ? front : g_real.realloc)(block, size);
}

template <typename Function>
void set(Function*& slot, const char* name, Function* otherwise) {
  void* found = platform::libc::find_next(name);
  slot = found != nullptr ? reinterpret_cast<Function*>(found) : otherwise;
}

// Does the loader's order have the module of `function` before that of `other`?
bool is_before(const void* function, const void* other) {
  struct Search {
    uint64_t function;
    uint64_t other;
  } search{reinterpret_cast<uint64_t>(function), reinterpret_cast<uint64_t>(other)};
  const auto look = [](dl_phdr_info* module, size_t, void* data) {
    const Search& s = *static_cast<Search*>(data);
    return platform::is_in_module(*module, s.other) ? 1 : platform::is_in_module(*module, s.function) ? 2 : 0;
  };
  return function != nullptr && dl_iterate_phdr(look, &search) == 2;
}

// What programs' calls come to, where that is neither ours nor what we call, but in front of us.
template <typename Function>
Function* find_in_front(const char* name, Function* behind) {
  void* first = dlsym(RTLD_DEFAULT, name);
  // What is there for programs only (hidden versions: libc_malloc_debug), and that alone.
  void* versioned = platform::libc::find_first_version(name);
  first = is_before(versioned, first) ? versioned : first;
  const bool is_in_front =
      first != reinterpret_cast<void*>(behind) && is_before(first, reinterpret_cast<const void*>(&resolve));
  return is_in_front ? reinterpret_cast<Function*>(first) : nullptr;
}

// What takes blocks comes before what gives them: a block of the real allocator never meets a stub.
void publish_all(const Real& found) {
  publish(g_real.free, found.free);
  publish(g_real.free_sized, found.free_sized);
  publish(g_real.free_aligned_sized, found.free_aligned_sized);
  publish(g_real.malloc_usable_size, found.malloc_usable_size);
  publish(g_real.realloc, found.realloc);
  publish(g_real.malloc, found.malloc);
  publish(g_real.calloc, found.calloc);
  publish(g_real.posix_memalign, found.posix_memalign);
  publish(g_real.aligned_alloc, found.aligned_alloc);
  publish(g_real.memalign, found.memalign);
  publish(g_real.valloc, found.valloc);
  publish(g_real.pvalloc, found.pvalloc);
}

// What an allocator maps that is a library of its own, and not the C library, is no mapping of the program's.
void note_allocator() {
  platform::ElfImage allocator;
  platform::ElfImage libc;
  if (platform::find_elf(reinterpret_cast<uint64_t>(g_real.malloc), &allocator) &&
      platform::find_elf(reinterpret_cast<uint64_t>(&getauxval), &libc) &&
      allocator.map_start != libc.map_start && allocator.path != nullptr && allocator.path[0] != '\0') {
    mappings::add_allocator(allocator.map_start, allocator.map_end);
  }
}

// Last of all: the hooks ask for `present`.
void publish_operators(const ForeignOperators& found) {
  ForeignOperators operators = found;
  operators.present = false;
  g_foreign = operators;
  __atomic_store_n(&g_foreign.present, found.present, __ATOMIC_RELEASE);
}

}  // namespace

Real g_real = {first_malloc,         first_free,
               first_calloc,         first_realloc,
               first_posix_memalign, first_aligned_alloc,
               first_memalign,       first_valloc,
               first_pvalloc,        first_malloc_usable_size,
               first_free_sized,     first_free_aligned_sized};
Front g_front = {first_front_realloc, nullptr};
ForeignOperators g_foreign;

void resolve() {
  int expected = kUnresolved;
  if (!g_stage.compare_exchange_strong(expected, kResolving, std::memory_order_acq_rel)) {
    return;  // done, or somebody is at it
  }
  const MuteScope mute;  // what dlsym allocates is ours, not the program's
  Real found{};
  const platform::libc::Allocator own = platform::libc::own_allocator();
  set(found.malloc, "malloc", own.malloc);
  set(found.free, "free", own.free);
  set(found.calloc, "calloc", own.calloc);
  set(found.realloc, "realloc", own.realloc);
  set(found.memalign, "memalign", own.memalign);
  set(found.posix_memalign, "posix_memalign", found.posix_memalign);
  set(found.aligned_alloc, "aligned_alloc", found.aligned_alloc);
  set(found.valloc, "valloc", found.valloc);
  set(found.pvalloc, "pvalloc", found.pvalloc);
  set(found.malloc_usable_size, "malloc_usable_size", found.malloc_usable_size);
  set(found.free_sized, "free_sized", found.free_sized);
  set(found.free_aligned_sized, "free_aligned_sized", found.free_aligned_sized);
  complete(&found);  // a stub that went on to itself would never end
  ForeignOperators operators;
  find_operators(reinterpret_cast<const void*>(found.malloc), &operators);
  publish_operators(operators);
  hide_operators();
  platform::find_loader_functions();
  platform::libc::learn_functions();
  resolve_mappings();

  publish(g_front.free, find_in_front("free", found.free));
  publish(g_front.realloc, find_in_front("realloc", found.realloc));
  publish_all(found);
  note_allocator();
  g_stage.store(kResolved, std::memory_order_release);
  mute_nested_calls();
}

void set_forwards(const Forwards& forwards) {
  Real real = forwards.real;
  complete(&real);
  __atomic_store_n(&g_front.realloc, nullptr, __ATOMIC_RELEASE);  // what is patched leads to us
  publish_all(real);
  memprof_real_loader = forwards.loader;
  set_real_mappings(forwards.mappings);
  note_allocator();
  publish_operators(forwards.foreign);
  // Where we were loaded with RTLD_GLOBAL, libraries that are loaded later would find ours.
  ForeignOperators behind;
  find_operators(reinterpret_cast<const void*>(real.malloc), &behind);
  hide_operators();
  g_stage.store(kResolved, std::memory_order_release);
  // A thread that comes to a hook by a slot has nothing that orders its reads of the table after that of the
  // slot.
  platform::order_all_threads();
}

}  // namespace memprof::interpose
