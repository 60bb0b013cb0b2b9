// SPDX-License-Identifier: Apache-2.0
// The V8 engine in this process: where the exported functions of it are that we call.
//
// Model: the first module that exports v8::Isolate::TryGetCurrent is the engine: the executable (the builds of
// nodejs.org), or a libnode.so.  Published once, whole, by a release store; a hook asks by an acquire load.
// While something is unloaded the engine is not there, and comes back only if its module stayed.
//
// Threads: any.
// Signals, fork: safe; a fork child inherits what is known.
// Allocates: never.
// Failure: nullptr: there is none, or it lacks one of the functions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/v8/v8_api.h"

namespace memprof::v8 {

// MEMPROF_RUNTIME_V8.
inline constexpr uint32_t kRuntimeId = 2;

// V8's sampler of its own heap, and what of Node tells when the program ends.  All of them, but for those that
// versions of V8 differ in, or none: other programs with V8 in them are not known to call anybody then.
struct HeapFunctions {
  void* (*profiler)(void* isolate);
  bool (*start)(void* profiler, uint64_t interval_bytes, int depth, int flags);
  void (*stop)(void* profiler);
  AllocationProfile* (*profile)(void* profiler);           // nullptr: it does not sample
  void (*begin_scope)(HandleScope* scope, void* isolate);  // nullptr: V8 14 (runtime/v8/handle_scope.h)
  void (*end_scope)(HandleScope* scope);
  void (*begin_seal)(SealHandleScope* scope, void* isolate);
  void (*end_seal)(SealHandleScope* scope);
  void (*delete_extensions)(HandleScope* scope, void* isolate);
  // V8 13 has options, 0: none.
  void (*begin_text)(Utf8Value* text, void* isolate, void* handle, int options);
  void (*end_text)(Utf8Value* text);
  void (*statistics)(void* isolate, HeapStatistics* statistics);
  size_t (*space_count)(void* isolate);
  bool (*space_statistics)(void* isolate, HeapSpaceStatistics* statistics, size_t index);
  void* (*context)(void* isolate);
  void* (*environment)(void* context);  // nullptr: Node is not that far
  void (*at_exit)(void* environment, void (*function)(void*), void* argument);
  void (*at_cleanup)(void* isolate, void (*function)(void*), void* argument);
};

struct Engine {
  void* (*try_get_current)();
  void (*get_stack_sample)(void* isolate, const RegisterState* registers, uint64_t* frames, size_t max_frames,
                           SampleInfo* info);
  void (*set_code_event_handler)(void* isolate, int options, JitCodeEventHandler handler);
  void (*add_before_call_callback)(void* isolate, CallCallback callback);  // once, however often it is added
  void (*embedded_code_range)(void* isolate, const void** start, size_t* size_bytes);
  void (*code_range)(void* isolate, void** start, size_t* size_bytes);
  int (*line_number)(void* script, int position);  // from 0; -1: unknown
  const char* (*get_version)();
  // Of those kinds of collections; called once for each time that it is added. nullptr: not told.
  void (*add_collection_callback)(void* isolate, CollectionCallback callback, void* data, int types);
  const uint8_t* isolate_key_created;  // V8 before 11: until it is 1, try_get_current reads the key of others
  const int32_t* bytecode_header;      // bytes of an array of bytecode before the first; nullptr: not told
  uint32_t version;                    // major << 8 | minor: 0x0a02 is 10.2
  // Functions that allocate while they hold a lock for which get_stack_sample would wait for ever; 0: none.
  uint64_t locks[2];
  HeapFunctions heap;  // .profiler nullptr: it lacks one of them

  // Whether it must not be called below `address`, which is in one of those.
  bool holds_lock(uint64_t address) const {
    constexpr uint64_t kMaxFunctionBytes = 1024;  // they have 110 and 309 in Debian's build of 10.2
    return (locks[0] != 0 && address - locks[0] < kMaxFunctionBytes) ||
           (locks[1] != 0 && address - locks[1] < kMaxFunctionBytes);
  }

  // The isolate that the calling thread is in; nullptr: none.  Also those that work for an isolate in the
  // background are "in" it from V8 12 on.
  void* current() const {
    return isolate_key_created == nullptr || *isolate_key_created != 0 ? try_get_current() : nullptr;
  }
};

extern std::atomic<const Engine*> g_engine;

// Acquire; pairs with the release in find_engine and resume_engine.
inline const Engine* engine() {
  return g_engine.load(std::memory_order_acquire);
}

// Looks for it in all modules.  Must not be called from a hook: takes the loader's lock.
const Engine* find_engine();
// Looks for it in the module that `address` lies in.
const Engine* find_engine_at(uint64_t address);

// Around an unload of modules.  Nests, and threads may be at it at the same time.
void suspend_engine();
void resume_engine();

// In a fork child: ends what other threads had suspended and what they were at.
void reset_engine_in_child();

// "11.3.244.8-node.38" -> 0x0b03; 0: it is no version.
uint32_t parse_version(const char* text);

}  // namespace memprof::v8
