// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit/runtime.h"

#include "format/runtime_frame.h"
#include "platform/modules.h"
#include "runtime/jit/jit_code.h"
#include "runtime/jit/jit_list.h"
#include "runtime/merge.h"

namespace memprof::jit {
namespace {

constexpr const char* kNames[] = {JitList::kName};

// The process's: zero-initialised, but for a number.
JitCode g_code;

void note(const void* descriptor) {
  if (g_code.add_list(reinterpret_cast<uint64_t>(descriptor))) {
    runtimes::name_code_in_stacks(kRuntime);
  }
}

// Never "there": no thread runs it.
bool attach(bool /*with_objects*/) {
  const void* descriptor;
  if (platform::find_exports(kNames, 1, &descriptor)) {
    note(descriptor);
  }
  return false;
}

bool enter_module(uint64_t address, bool /*with_objects*/) {
  const void* descriptor;
  if (platform::find_exports_at(address, kNames, 1, &descriptor)) {
    note(descriptor);
  }
  return false;
}

void before_unload() {}

void after_unload() {
  g_code.keep_lists([](uint64_t descriptor) {
    const void* now;
    return platform::find_exports_at(descriptor, kNames, 1, &now) &&
           reinterpret_cast<uint64_t>(now) == descriptor;
  });
}

void reset_in_child() {
  g_code.reset_in_child();
}

bool find_thread(runtimes::RunningThread* /*thread*/) {
  return false;
}

platform::WalkResult merge(const runtimes::RunningThread& /*thread*/, const runtimes::NativeStack& native,
                           uint64_t* frames, uint32_t max_depth) {
  return runtimes::leave_native(native, frames, max_depth);
}

uint32_t line_at(const uint8_t* /*lines*/, uint64_t /*lines_bytes*/, uint32_t /*first_line*/,
                 uint32_t /*position_bytes*/) {
  return 0;
}

void name_code(uint64_t* frames, uint32_t depth) {
  g_code.follow();
  if (!g_code.has_files()) {
    return;
  }
  for (uint32_t i = 0; i < depth; ++i) {
    // An address in a call is one that it returns to.
    const uint64_t frame = is_runtime_frame(frames[i]) ? 0 : g_code.frame_at(frames[i] - 1);
    frames[i] = frame != 0 ? frame : frames[i];
  }
}

}  // namespace

const runtimes::Runtime kRuntime = {
    kRuntimeId,  "JIT code",    "MEMPROF_JIT", kMadeCode,      attach,  enter_module,
    nullptr,     before_unload, after_unload,  reset_in_child, nullptr, nullptr,
    find_thread, merge,         line_at,       name_code,      nullptr,
};

}  // namespace memprof::jit
