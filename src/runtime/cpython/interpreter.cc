// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/interpreter.h"

#include <cstring>

#include "platform/modules.h"

namespace memprof::cpython {

std::atomic<const Interpreter*> g_interpreter{nullptr};

namespace {

enum Name : uint32_t {
  kSetAllocator,  // the first: it says which module is the interpreter
  kGetAllocator,
  kAllocatorName,
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
const char* const kNamesOf[kNames] = {
    "PyMem_SetAllocator",
    "PyMem_GetAllocator",
    "_PyMem_GetCurrentAllocatorName",
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

// One entry for each interpreter that was ever found: a thread may still read the one before.  A process that
// loads and unloads a libpython at other addresses again and again is not followed for ever.
constexpr uint32_t kMostInterpreters = 16;
Interpreter g_found[kMostInterpreters];  // written by the one that is at it, before it is published
uint32_t g_found_count = 0;
std::atomic<bool> g_busy{false};  // acquire and release
// What g_interpreter is while nothing is unloaded.  Release in note(), acquire everywhere.
std::atomic<const Interpreter*> g_known{nullptr};
std::atomic<uint32_t> g_suspensions{0};  // sequentially consistent, with g_interpreter
// Those of the calling thread: a fork child has no others.
__thread uint32_t t_suspensions __attribute__((tls_model("initial-exec")));

template <typename Function>
void set(Function*& slot, const void* address) {
  slot = reinterpret_cast<Function*>(reinterpret_cast<uintptr_t>(address));
}

void fill(const void* const* addresses, Interpreter* found) {
  set(found->set_allocator, addresses[kSetAllocator]);
  set(found->get_allocator, addresses[kGetAllocator]);
  set(found->current_allocator_name, addresses[kAllocatorName]);
  set(found->is_initialized, addresses[kIsInitialized]);
  set(found->is_finalizing,
      addresses[kIsFinalizing] != nullptr ? addresses[kIsFinalizing] : addresses[kIsFinalizingOld]);
  set(found->gil_state_thread_state, addresses[kGilState]);
  set(found->unchecked_thread_state,
      addresses[kUnchecked] != nullptr ? addresses[kUnchecked] : addresses[kUncheckedOld]);
  found->evaluation_loop = addresses[kEvaluationLoop];
  found->runtime = addresses[kRuntime];
  found->code_type = addresses[kCodeType];
  found->unicode_type = addresses[kUnicodeType];
  found->bytes_type = addresses[kBytesType];
  if (addresses[kVersion] != nullptr) {
    unsigned long version;  // as it is declared there
    memcpy(&version, addresses[kVersion], sizeof(version));
    found->version = static_cast<uint32_t>(version);
  }
}

// Nobody is to see it between a suspension and its end: whoever comes in between takes it back, and looks
// again, because the end may have come meanwhile.
void publish(const Interpreter* found) {
  do {
    g_interpreter.store(found);
    if (g_suspensions.load() == 0) {
      return;
    }
    g_interpreter.store(nullptr);
  } while (g_suspensions.load() == 0);
}

bool is_the_same(const Interpreter& a, const Interpreter& b) {
  return a.set_allocator == b.set_allocator && a.runtime == b.runtime && a.version == b.version;
}

// The entry of it, made if need be; nullptr: there are too many.
const Interpreter* enter(const Interpreter& fresh) {
  for (uint32_t i = 0; i < g_found_count; ++i) {
    if (is_the_same(g_found[i], fresh)) {
      return &g_found[i];  // it came back to where it was
    }
  }
  if (g_found_count == kMostInterpreters) {
    return nullptr;
  }
  g_found[g_found_count] = fresh;
  return &g_found[g_found_count++];
}

// nullptr also when another thread is at it: it finds what there is.
const Interpreter* note(const void* const* addresses) {
  Interpreter fresh{};
  fill(addresses, &fresh);
  if (g_busy.exchange(true, std::memory_order_acquire)) {
    return nullptr;
  }
  const Interpreter* known = g_known.load(std::memory_order_acquire);
  if (known == nullptr) {
    known = enter(fresh);
    g_known.store(known, std::memory_order_release);
    publish(known);
  }
  g_busy.store(false, std::memory_order_release);
  return known;
}

}  // namespace

const Interpreter* find_interpreter() {
  const Interpreter* known = g_known.load(std::memory_order_acquire);
  const void* addresses[kNames];
  if (known == nullptr && platform::find_exports(kNamesOf, kNames, addresses)) {
    known = note(addresses);
  }
  return known;
}

const Interpreter* find_interpreter_at(uint64_t address) {
  const Interpreter* known = g_known.load(std::memory_order_acquire);
  const void* addresses[kNames];
  if (known == nullptr && platform::find_exports_at(address, kNamesOf, kNames, addresses)) {
    known = note(addresses);
  }
  return known;
}

bool is_finalizing() {
  const Interpreter* found = interpreter();
  return found != nullptr && found->is_finalizing != nullptr && found->is_finalizing() != 0;
}

void suspend_interpreter() {
  ++t_suspensions;
  g_suspensions.fetch_add(1);
  g_interpreter.store(nullptr);
}

void resume_interpreter() {
  const Interpreter* known = g_known.load(std::memory_order_acquire);
  if (known != nullptr) {
    const void* addresses[kNames];
    Interpreter now{};
    if (platform::find_exports_at(reinterpret_cast<uint64_t>(known->set_allocator), kNamesOf, kNames,
                                  addresses)) {
      fill(addresses, &now);
    }
    if (!is_the_same(now, *known)) {
      g_known.compare_exchange_strong(known, nullptr, std::memory_order_acq_rel);
    }
  }
  --t_suspensions;
  if (g_suspensions.fetch_sub(1) == 1) {
    publish(g_known.load(std::memory_order_acquire));
  }
}

void reset_interpreter_in_child() {
  g_busy.store(false, std::memory_order_release);
  if (g_suspensions.load() != t_suspensions) {
    g_suspensions.store(t_suspensions++ + 1);
    resume_interpreter();
  }
}

}  // namespace memprof::cpython
