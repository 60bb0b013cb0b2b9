// SPDX-License-Identifier: Apache-2.0
// The CPython interpreter in this process: where the functions and variables of it are that we use.
//
// Model: the first module that exports PyMem_SetAllocator is the interpreter: the executable, a libpython
// that it needs, or one that was loaded later, with RTLD_LOCAL too.  All addresses are that module's.  It is
// published once, whole, by one release store; a hook asks for it by one acquire load.  While something is
// unloaded it is not there (suspend), and comes back only if its module stayed.
//
// Threads: any.  Two that find it at once find the same.
// Signals, fork: safe; a fork child inherits what is known, and nobody's suspensions but its own thread's.
// Allocates: never.
// Failure: nullptr; a member that this version of the interpreter does not export is nullptr.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memprof::cpython {

// MEMPROF_RUNTIME_CPYTHON.
inline constexpr uint32_t kRuntimeId = 1;

// As in cpython/pymem.h; the same in every version since 3.5.
struct Allocator {
  void* ctx;
  void* (*malloc)(void* ctx, size_t size);
  void* (*calloc)(void* ctx, size_t count, size_t size);
  void* (*realloc)(void* ctx, void* block, size_t size);
  void (*free)(void* ctx, void* block);
};
struct ArenaAllocator {
  void* ctx;
  void* (*alloc)(void* ctx, size_t size);
  void (*free)(void* ctx, void* arena, size_t size);
};
enum class Domain : int { kRaw = 0, kMem = 1, kObject = 2 };

struct Interpreter {
  void (*set_allocator)(Domain domain, Allocator* allocator);  // PyMem_SetAllocator; never nullptr
  void (*get_allocator)(Domain domain, Allocator* allocator);  // PyMem_GetAllocator
  const char* (*current_allocator_name)();                     // _PyMem_GetCurrentAllocatorName
  void (*get_arena_allocator)(ArenaAllocator* allocator);      // PyObject_GetArenaAllocator
  int (*is_initialized)();                                     // Py_IsInitialized
  int (*is_finalizing)();             // Py_IsFinalizing, before 3.13 _Py_IsFinalizing
  void* (*gil_state_thread_state)();  // PyGILState_GetThisThreadState
  void* (*unchecked_thread_state)();  // PyThreadState_GetUnchecked, before 3.13 _PyThreadState_UncheckedGet
  const void* evaluation_loop;        // _PyEval_EvalFrameDefault
  const void* runtime;                // _PyRuntime
  const void* code_type;              // PyCode_Type
  const void* unicode_type;           // PyUnicode_Type
  const void* bytes_type;             // PyBytes_Type
  uint32_t version;                   // of Py_Version: 0x030b02f0 is 3.11.2; 0: older than 3.11

  bool is_at_least(uint32_t major, uint32_t minor) const { return version >= (major << 24 | minor << 16); }
};

extern std::atomic<const Interpreter*> g_interpreter;

// nullptr: there is none (yet).  Acquire; pairs with the release in find_interpreter and resume.
inline const Interpreter* interpreter() {
  return g_interpreter.load(std::memory_order_acquire);
}

// Looks for it in all modules.  Must not be called from a hook: takes the loader's lock.
const Interpreter* find_interpreter();
// Looks for it in the module that `address` lies in.
const Interpreter* find_interpreter_at(uint64_t address);

// Has the interpreter begun to finalize?  May be called from a hook.
bool is_finalizing();

// Around an unload of modules.  Nests, and threads may be at it at the same time.
void suspend_interpreter();
void resume_interpreter();

// In a fork child: ends what other threads had suspended and what they were at.
void reset_interpreter_in_child();

}  // namespace memprof::cpython
