// SPDX-License-Identifier: Apache-2.0
#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "core/sampling/sampler.h"
#include "runtime/cpython/codes.h"
#include "runtime/cpython/interpreter.h"
#include "runtime/cpython/objects.h"
#include "runtime/cpython/stacks.h"

namespace memprof::runtimes {

std::atomic<bool> g_looks_in_events{false};
std::atomic<uint32_t> g_events_wanted{0};

namespace {

std::atomic<bool> g_is_python_off{false};    // relaxed: set before the profiler starts
std::atomic<bool> g_are_objects_off{false};  // likewise

void attach_python(const cpython::Interpreter* python) {
  if (python != nullptr) {
    profiler::watch_runtime_end(cpython::is_finalizing);
  }
  if (python != nullptr && !g_are_objects_off.load(std::memory_order_relaxed)) {
    cpython::attach_objects(*python);
  }
}

}  // namespace

void configure(const Settings& settings) {
  g_is_python_off.store(settings.python_off, std::memory_order_relaxed);
  g_are_objects_off.store(settings.python_objects_off, std::memory_order_relaxed);
  cpython::show_evaluation_loop(settings.native_interpreter);
}

void attach() {
  if (!g_is_python_off.load(std::memory_order_relaxed)) {
    attach_python(cpython::find_interpreter());
  }
}

void module_was_entered(uint64_t address) {
  if (cpython::interpreter() == nullptr && !g_is_python_off.load(std::memory_order_relaxed)) {
    attach_python(cpython::find_interpreter_at(address));
  }
}

void look() {
  cpython::look_at_objects();
}

// Threads may count one event together: no harm.
void want_event() {
  const uint32_t left = g_events_wanted.load(std::memory_order_relaxed);
  if (left != 0) {
    g_events_wanted.store(left - 1, std::memory_order_relaxed);
    sampler_forget();
  }
}

void reset_in_child() {
  cpython::reset_interpreter_in_child();
  cpython::reset_stacks_in_child();
  cpython::reset_codes_in_child();
  cpython::reset_objects_in_child();
}

void before_unload() {
  cpython::suspend_interpreter();
}

void after_unload() {
  cpython::resume_interpreter();
  if (cpython::interpreter() == nullptr) {
    cpython::unwatch_codes();
  }
  cpython::check_objects();
}

}  // namespace memprof::runtimes
