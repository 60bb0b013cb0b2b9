// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/interpreter.h"

#include <cstring>

#include "platform/object_format.h"
#include "runtime/found_module.h"

namespace memprof::cpython {

using runtimes::set_function;

std::atomic<const Interpreter*> g_interpreter{nullptr};

namespace {

struct Symbol {
  enum Name : uint32_t {
    kSetAllocator,  // the first: it says which module is the interpreter
    kGetAllocator,
    kAllocatorName,
    kGetArenas,
    kIsInitialized,
    kIsFinalizing,
    kIsFinalizingOld,
    kGilState,
    kUnchecked,
    kUncheckedOld,
    kEvaluationLoop,
    kRuntime,
    kCodeType,
    kUnicodeType,
    kBytesType,
    kVersion,
    kNames,
  };
};
const char* const kNamesOf[Symbol::kNames] = {
    "PyMem_SetAllocator",
    "PyMem_GetAllocator",
    "_PyMem_GetCurrentAllocatorName",
    "PyObject_GetArenaAllocator",
    "Py_IsInitialized",
    "Py_IsFinalizing",
    "_Py_IsFinalizing",
    "PyGILState_GetThisThreadState",
    "PyThreadState_GetUnchecked",
    "_PyThreadState_UncheckedGet",
    "_PyEval_EvalFrameDefault",
    "_PyRuntime",
    "PyCode_Type",
    "PyUnicode_Type",
    "PyBytes_Type",
    "Py_Version",
};

// Of the calling thread.
__thread uint32_t t_suspensions MEMPROF_TLS_MODEL;

bool fill(const void* const* addresses, Interpreter* found) {
  set_function(found->set_allocator, addresses[Symbol::kSetAllocator]);
  set_function(found->get_allocator, addresses[Symbol::kGetAllocator]);
  set_function(found->current_allocator_name, addresses[Symbol::kAllocatorName]);
  set_function(found->get_arena_allocator, addresses[Symbol::kGetArenas]);
  set_function(found->is_initialized, addresses[Symbol::kIsInitialized]);
  set_function(found->is_finalizing, addresses[Symbol::kIsFinalizing] != nullptr
                                         ? addresses[Symbol::kIsFinalizing]
                                         : addresses[Symbol::kIsFinalizingOld]);
  set_function(found->gil_state_thread_state, addresses[Symbol::kGilState]);
  set_function(found->unchecked_thread_state, addresses[Symbol::kUnchecked] != nullptr
                                                  ? addresses[Symbol::kUnchecked]
                                                  : addresses[Symbol::kUncheckedOld]);
  found->evaluation_loop = addresses[Symbol::kEvaluationLoop];
  found->runtime = addresses[Symbol::kRuntime];
  found->code_type = addresses[Symbol::kCodeType];
  found->unicode_type = addresses[Symbol::kUnicodeType];
  found->bytes_type = addresses[Symbol::kBytesType];
  if (addresses[Symbol::kVersion] != nullptr) {
    unsigned long version;  // as it is declared there
    memcpy(&version, addresses[Symbol::kVersion], sizeof(version));
    found->version = static_cast<uint32_t>(version);
  }
  return true;
}

bool is_the_same(const Interpreter& a, const Interpreter& b) {
  return a.set_allocator == b.set_allocator && a.runtime == b.runtime && a.version == b.version;
}

struct Traits {
  using Found = Interpreter;
  static constexpr uint32_t kMaxFound = 16;
  static constexpr uint32_t kNames = Symbol::kNames;
  static const char* const* names() { return kNamesOf; }
  static bool fill(const void* const* addresses, Found* found) { return cpython::fill(addresses, found); }
  static bool is_the_same(const Found& a, const Found& b) { return cpython::is_the_same(a, b); }
  static const void* place(const Found& found) { return reinterpret_cast<const void*>(found.set_allocator); }
  static std::atomic<const Found*>& published() { return g_interpreter; }
  static uint32_t& suspensions() { return t_suspensions; }
};
runtimes::FoundModule<Traits> g_module;

}  // namespace

const Interpreter* find_interpreter() {
  return g_module.find();
}

const Interpreter* find_interpreter_at(uint64_t address) {
  return g_module.find_at(address);
}

bool is_finalizing() {
  const Interpreter* found = interpreter();
  return found != nullptr && found->is_finalizing != nullptr && found->is_finalizing() != 0;
}

void suspend_interpreter() {
  g_module.suspend();
}

void resume_interpreter() {
  g_module.resume();
}

void reset_interpreter_in_child() {
  g_module.reset_in_child();
}

}  // namespace memprof::cpython
