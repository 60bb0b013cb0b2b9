// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/toy/toy_runtime.h"

#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "format/runtime_frame.h"
#include "memprof.h"
#include "runtime/merge.h"
#include "tests/runtime/toy/toy.h"

namespace toy {
namespace {

namespace profiler = memprof::profiler;
using memprof::platform::WalkResult;
using memprof::runtimes::NativeStack;
using memprof::runtimes::RunningThread;

struct Thread {
  const Activation* running;
};

uint64_t encode(const Frame& frame) {
  const Function& f = *frame.function;
  const uint32_t id = profiler::intern_code({f.name.data(), static_cast<uint32_t>(f.name.size()),
                                             f.file.data(), static_cast<uint32_t>(f.file.size()),
                                             f.lines.data(), f.lines.size(), f.first_line, kRuntimeId});
  return memprof::runtime_frame(id != memprof::CodeTable::kNone ? id : memprof::unknown_code(kRuntimeId),
                                frame.position);
}

// A run for each activation of the loop.
class Runs {
 public:
  struct Run {
    uint64_t boundary;
  };

  explicit Runs(const Activation* at) : next_(at) {}

  bool next(Run* run) {
    if (next_ == nullptr) {
      return false;
    }
    now_ = next_;
    next_ = now_->outer;
    *run = {reinterpret_cast<uint64_t>(now_)};
    return true;
  }

  template <typename Add>
  bool each(const Add& add) const {
    for (const Frame* frame = now_->top; frame != nullptr; frame = frame->previous) {
      if (!add(encode(*frame))) {
        return false;
      }
    }
    return true;
  }

 private:
  const Activation* now_ = nullptr;
  const Activation* next_;
};

// The language is part of the program: it is always there.
bool attach(bool /*with_objects*/) {
  profiler::note_runtime(kRuntimeId, kVersion, MEMPROF_OBJECTS_BY_MALLOC);
  return true;
}

bool enter_module(uint64_t /*address*/, bool /*with_objects*/) {
  return false;
}

void do_nothing() {}

bool find_thread(RunningThread* thread) {
  return thread->set<Thread>(kRuntime, [] { return Thread{running()}; }).running != nullptr;
}

WalkResult merge(const RunningThread& thread, const NativeStack& native, uint64_t* frames,
                 uint32_t max_depth) {
  profiler::note_runtime_stacks(kRuntimeId, MEMPROF_STACKS_READ);
  Runs runs(thread.own<Thread>().running);
  return memprof::runtimes::merge_runs(&runs, {}, native, frames, max_depth);
}

uint32_t line_at(const uint8_t* lines, uint64_t lines_bytes, uint32_t first_line, uint32_t position) {
  return position < lines_bytes ? first_line + lines[position] : 0;
}

}  // namespace

const memprof::runtimes::Runtime kRuntime = {
    kRuntimeId,  "Toy",        "MEMPROF_TOY", "[unknown Toy code]",
    attach,      enter_module, nullptr,       do_nothing,
    do_nothing,  do_nothing,   nullptr,       nullptr,
    find_thread, merge,        line_at,       nullptr,
    nullptr,
};

}  // namespace toy
