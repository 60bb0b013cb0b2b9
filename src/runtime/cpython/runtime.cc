// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/runtime.h"

#include "core/mappings/mappings.h"
#include "runtime/cpython/codes.h"
#include "runtime/cpython/collections.h"
#include "runtime/cpython/interpreter.h"
#include "runtime/cpython/lines/line_table.h"
#include "runtime/cpython/mixed_stack.h"
#include "runtime/cpython/objects.h"
#include "runtime/cpython/stacks.h"

namespace memprof::cpython {
namespace {

bool attach_to(const Interpreter* found, bool with_objects) {
  if (found != nullptr) {
    mappings::request();
  }
  if (found != nullptr && with_objects) {
    attach_objects(*found);
  }
  return found != nullptr;
}

bool attach(bool with_objects) {
  return attach_to(find_interpreter(), with_objects);
}

bool enter_module(uint64_t address, bool with_objects) {
  return interpreter() == nullptr && attach_to(find_interpreter_at(address), with_objects);
}

void after_unload() {
  resume_interpreter();
  if (interpreter() == nullptr) {
    unwatch_codes();
  }
  check_objects();
}

void reset_in_child() {
  reset_interpreter_in_child();
  reset_stacks_in_child();
  reset_codes_in_child();
  reset_objects_in_child();
}

bool find_thread(runtimes::RunningThread* thread) {
  return thread->set<RunningThread>(kRuntime, running_thread).interpreter != nullptr;
}

platform::WalkResult merge(const runtimes::RunningThread& thread, const runtimes::NativeStack& native,
                           uint64_t* frames, uint32_t max_depth) {
  return merge_frames(thread.own<RunningThread>(), native, frames, max_depth);
}

}  // namespace

const runtimes::Runtime kRuntime = {
    kRuntimeId,
    "CPython",
    "MEMPROF_PYTHON",
    "[unknown Python code]",
    attach,
    enter_module,
    look_at_objects,
    suspend_interpreter,
    after_unload,
    reset_in_child,
    is_finalizing,
    show_evaluation_loop,
    find_thread,
    merge,
    line_at,
    nullptr,
    count_collections,
};

}  // namespace memprof::cpython
