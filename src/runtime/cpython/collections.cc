// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/collections.h"

#include <atomic>
#include <cstdint>

#include "platform/modules.h"
#include "runtime/cpython/interpreter.h"
#include "runtime/found_module.h"
#include "runtime/runtime.h"

namespace memprof::cpython {
namespace {

using runtimes::set_function;
using Object = void*;

// As in methodobject.h; the same in every version.
struct MethodDef {
  const char* name;
  Object (*function)(Object self, Object arguments);
  int flags;
  const char* doc;
};
constexpr int kVarArgs = 1;  // METH_VARARGS

struct Functions {
  int (*ensure)();
  void (*release)(int state);
  Object (*import)(const char* name);
  Object (*attribute)(Object object, const char* name);
  int (*append)(Object list, Object item);
  Object (*function)(MethodDef* method, Object self, Object module);
  Object (*item)(Object tuple, long index);  // borrowed
  int (*compare)(Object text, const char* ascii);
  void (*add_reference)(Object object);
  void (*drop_reference)(Object object);
  void (*clear_error)();
  Object none;
};
const char* const kCollectionNames[] = {
    "PyGILState_Ensure", "PyGILState_Release", "PyImport_ImportModule", "PyObject_GetAttrString",
    "PyList_Append",     "PyCFunction_NewEx",  "PyTuple_GetItem",       "PyUnicode_CompareWithASCIIString",
    "Py_IncRef",         "Py_DecRef",          "PyErr_Clear",           "_Py_NoneStruct"};
constexpr uint32_t kCollectionNameCount = sizeof(kCollectionNames) / sizeof(kCollectionNames[0]);

Functions g_functions;                   // written before the callback is there
std::atomic<bool> g_is_counting{false};  // relaxed: who holds the interpreter's lock writes it

// gc.callbacks calls it with a phase, "start" or "stop", and a dict.
Object on_collection(Object, Object arguments) {
  Object phase = g_functions.item(arguments, 0);
  if (phase == nullptr) {
    g_functions.clear_error();
  } else if (g_functions.compare(phase, "start") == 0) {
    runtimes::note_collection();
  }
  g_functions.add_reference(g_functions.none);
  return g_functions.none;
}

MethodDef g_method = {"memprof_collection", on_collection, kVarArgs, nullptr};

bool find_functions(const Interpreter& interpreter, Functions* found) {
  const void* addresses[kCollectionNameCount];
  if (!platform::find_exports_at(reinterpret_cast<uint64_t>(interpreter.set_allocator), kCollectionNames,
                                 kCollectionNameCount, addresses)) {
    return false;
  }
  for (const void* address : addresses) {
    if (address == nullptr) {
      return false;
    }
  }
  uint32_t next = 0;
  set_function(found->ensure, addresses[next++]);
  set_function(found->release, addresses[next++]);
  set_function(found->import, addresses[next++]);
  set_function(found->attribute, addresses[next++]);
  set_function(found->append, addresses[next++]);
  set_function(found->function, addresses[next++]);
  set_function(found->item, addresses[next++]);
  set_function(found->compare, addresses[next++]);
  set_function(found->add_reference, addresses[next++]);
  set_function(found->drop_reference, addresses[next++]);
  set_function(found->clear_error, addresses[next++]);
  found->none = const_cast<void*>(addresses[next]);
  return true;
}

// With the interpreter's lock.
bool add_callback(const Functions& f) {
  Object gc = f.import("gc");
  Object callbacks = gc != nullptr ? f.attribute(gc, "callbacks") : nullptr;
  const Object callback = callbacks != nullptr ? f.function(&g_method, nullptr, nullptr) : nullptr;
  const bool is_added = callback != nullptr && f.append(callbacks, callback) == 0;
  const Object objects[] = {gc, callbacks, callback};
  for (const Object object : objects) {
    if (object != nullptr) {
      f.drop_reference(object);
    }
  }
  if (!is_added) {
    f.clear_error();
  }
  return is_added;
}

}  // namespace

bool count_collections() {
  const Interpreter* const found = find_interpreter();
  Functions functions{};
  if (found == nullptr || found->is_initialized == nullptr || found->is_initialized() == 0 ||
      is_finalizing() || !find_functions(*found, &functions)) {
    return false;
  }
  const int state = functions.ensure();
  if (!g_is_counting.load(std::memory_order_relaxed)) {
    g_functions = functions;
    g_is_counting.store(add_callback(functions), std::memory_order_relaxed);
  }
  const bool is_counting = g_is_counting.load(std::memory_order_relaxed);
  functions.release(state);
  return is_counting;
}

}  // namespace memprof::cpython
