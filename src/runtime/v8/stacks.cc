// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/stacks.h"

#include <atomic>

#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "format/runtime_frame.h"
#include "platform/object_format.h"
#include "platform/process.h"
#include "runtime/merge.h"
#include "runtime/v8/code/code_name.h"
#include "runtime/v8/runtime.h"

namespace memprof::v8 {
namespace {

using platform::Walk;
using platform::WalkResult;
using runtimes::NativeStack;

constexpr uint32_t kMaxFrames = 512;  // of JavaScript
constexpr uint8_t kNoLines = 0;       // a position is its line: there is no table

std::atomic<bool> g_shows_glue{false};  // relaxed
std::atomic<bool> g_has_stacks{false};  // relaxed: MEMPROF_STACKS_READ was said
__thread uint32_t t_unknown_stacks MEMPROF_TLS_MODEL;
enum class ThreadKind : uint32_t { kNotAsked, kMain, kOther };
__thread ThreadKind t_kind MEMPROF_TLS_MODEL;

struct Sample {
  uint32_t count;
  uint16_t state;
  uint64_t addresses[kMaxFrames];
};

// The calling thread must be the isolate's own: V8 reads its stack.
[[gnu::noinline]] void take(const Engine& engine, void* isolate, Sample* sample) {
  RegisterState registers{};
  // Of this function: not V8's code, so V8 begins where JavaScript was left.
  registers.pc = __builtin_return_address(0);
  registers.sp = __builtin_frame_address(0);
  registers.fp = __builtin_frame_address(0);
  SampleInfo info{};
  engine.get_stack_sample(isolate, &registers, sample->addresses, kMaxFrames, &info);
  sample->state = info.state;
  sample->count =
      info.state == kStateGc || info.frames_count > kMaxFrames ? 0 : static_cast<uint32_t>(info.frames_count);
}

// Is one of V8's functions on the stack below which it must not be called?
bool holds_lock(const Engine& engine, const NativeStack& native) {
  for (uint32_t i = 0; i < native.walk.depth; ++i) {
    if (engine.holds_lock(native.frames[i])) {
      return true;
    }
  }
  return false;
}

// What is left of V8's frames.
class Merging {
 public:
  Merging(Isolate* isolate, const NativeStack& native, const Sample& sample)
      : isolate_(*isolate),
        native_(native),
        sample_(sample),
        tables_(profiler::tables_epoch()),
        shows_glue_(g_shows_glue.load(std::memory_order_relaxed)) {}

  WalkResult run(uint64_t* frames, uint32_t max_depth) {
    unwind::FrameList out(frames, max_depth);
    const auto hooks = reinterpret_cast<uint64_t>(native_.code->hooks_start);
    const uint64_t hooks_bytes = reinterpret_cast<uint64_t>(native_.code->hooks_limit) - hooks;
    for (uint32_t i = 0; i < native_.walk.depth; ++i) {
      const uint64_t address = native_.frames[i];
      const uint32_t match = isolate_.machine_code().may_contain(address) ? find_match(i) : kNotFound;
      bool has_room = true;
      if (match != kNotFound) {
        has_room = add_until(match + 1, true, &out);
        has_room = has_room && (!shows_glue_ || out.add(address));
      } else if (address - hooks >= hooks_bytes &&
                 (shows_glue_ || !isolate_.machine_code().contains(address))) {
        has_room = out.add(address);
      }
      if (!has_room) {
        return out.end(Walk::kDepthLimit);
      }
    }
    return out.end(add_until(sample_.count, false, &out) ? native_.walk.reason : Walk::kDepthLimit);
  }

  bool has_own() const { return own_ != 0; }
  bool has_unknown() const { return unknown_ != 0; }

 private:
  static constexpr uint32_t kNotFound = UINT32_MAX;
  static constexpr uint32_t kMaxInlined = 64;  // of one frame

  // Which of the next of V8's frames the native frame is; kNotFound: none.
  uint32_t find_match(uint32_t place) const {
    constexpr uint32_t kAhead = 4;  // frames of V8's that are not in the native stack: exits to C++
    const uint32_t limit = next_ + kAhead < sample_.count ? next_ + kAhead : sample_.count;
    for (uint32_t k = next_; k < limit; ++k) {
      if (sample_.addresses[k] == native_.frames[place]) {
        return k;
      }
    }
    if (next_ == limit || place + 1 >= native_.walk.depth) {
      return kNotFound;
    }
    // The frame pointer is two words below the end of the frame.
    constexpr uint64_t kWord = 8;
    constexpr uint64_t kFirst = 2;  // below it: context and function, then the interpreter's
    constexpr uint64_t kLast = 8;
    const uint64_t frame_pointer = native_.stack_pointers[place + 1] - 2 * kWord;
    const uint64_t low = native_.stack_pointers[place];
    if (frame_pointer % kWord != 0 || frame_pointer < low + (kLast + 2) * kWord ||
        frame_pointer >= native_.stack_high) {
      return find_small_match(low, frame_pointer, limit);
    }
    return find_interpreted(frame_pointer, kFirst, kLast, limit);
  }

  uint32_t find_small_match(uint64_t low, uint64_t frame_pointer, uint32_t limit) const {
    constexpr uint64_t kWord = 8;
    if (frame_pointer % kWord != 0 || frame_pointer < low || frame_pointer >= native_.stack_high) {
      return kNotFound;
    }
    const uint64_t words = (frame_pointer - low) / kWord;
    return words > 3 ? find_interpreted(frame_pointer, 2, words - 2, limit) : kNotFound;
  }

  uint32_t find_interpreted(uint64_t frame_pointer, uint64_t first, uint64_t last, uint32_t limit) const {
    const auto* const words = reinterpret_cast<const uint64_t*>(frame_pointer);
    for (uint64_t i = first; i <= last; ++i) {
      const uint64_t bytecode = words[-static_cast<int64_t>(i)];
      const uint64_t offset = words[-static_cast<int64_t>(i) - 1] >> 32;  // a small integer of V8's
      for (uint32_t k = next_; k < limit && offset != 0; ++k) {
        if (bytecode + offset == sample_.addresses[k]) {
          return k;
        }
      }
    }
    return kNotFound;
  }

  // Writes those of V8's frames up to `limit` that are JavaScript.  `has_place`: the last of them is one of V8's
  // machine code, not an exit to C++.
  bool add_until(uint32_t limit, bool has_place, unwind::FrameList* out) {
    for (; next_ < limit; ++next_) {
      FoundCode found{};
      const uint64_t address = sample_.addresses[next_];
      const bool is_last = next_ + 1 == limit;
      // An address in a call is one that it returns to; bytecode is where it is.
      if (!isolate_.codes()->find(address, false, &found) || !found.is_bytecode) {
        if (!isolate_.codes()->find(address, true, &found)) {
          if (is_last && has_place) {
            ++unknown_;
            // Machine code that nobody named may be one of V8's own builtins.
            if (!isolate_.machine_code().contains(address) &&
                !out->add(runtime_frame(unknown_code(kRuntimeId), 0))) {
              return false;
            }
          }
          continue;
        }
      }
      own_ += found.is_internal ? 0 : 1;
      unknown_ += found.lacks_inlined ? 1 : 0;
      Codes::InlinedFrame inlined{};
      for (uint32_t at = found.inlined, left = kMaxInlined;
           left != 0 && isolate_.codes()->inlined(at, &inlined); at = inlined.caller, --left) {
        const bool is_known = inlined.name != Codes::kNone;
        if (!out->add(is_known ? word_of(inlined.name, inlined.line)
                               : runtime_frame(unknown_code(kRuntimeId), 0))) {
          return false;
        }
      }
      if (!out->add(word_of(found.name, found.line))) {
        return false;
      }
    }
    return true;
  }

  uint64_t word_of(uint32_t name_index, uint32_t line) {
    Codes& codes = *isolate_.codes();
    uint64_t word = codes.kept(name_index, tables_);
    if (word == 0) {
      const CodeName name = parse_code_name(codes.name(name_index));
      const uint32_t id = profiler::intern_code(
          {name.function.data(), static_cast<uint32_t>(name.function.size()), name.file.data(),
           static_cast<uint32_t>(name.file.size()), &kNoLines, 0, name.line, kRuntimeId});
      word = runtime_frame(id == CodeTable::kNone ? unknown_code(kRuntimeId) : id, name.line);
      codes.keep(name_index, tables_, word);
    }
    return line != 0 ? runtime_frame(code_of(word), line) : word;
  }

  Isolate& isolate_;
  const NativeStack& native_;
  const Sample& sample_;
  const uint32_t tables_;
  const bool shows_glue_;
  uint32_t next_ = 0;  // of V8's frames
  uint32_t own_ = 0;
  uint32_t unknown_ = 0;
};

// Does the thread itself run JavaScript?  Those that work for an isolate in the background have no frame in
// V8's machine code.
bool runs_javascript(const RunningThread& thread, const NativeStack& native) {
  const MachineCode code = MachineCode::of(*thread.engine, thread.isolate);
  for (uint32_t i = 0; i < native.walk.depth; ++i) {
    if (code.contains(native.frames[i])) {
      return true;
    }
  }
  return false;
}

}  // namespace

RunningThread running_thread() {
  const Engine* const engine = v8::engine();
  void* const isolate = engine != nullptr ? engine->current() : nullptr;
  return isolate != nullptr ? RunningThread{engine, isolate, isolate_of_thread(isolate)} : RunningThread{};
}

WalkResult merge_frames(const RunningThread& thread, const NativeStack& native, uint64_t* frames,
                        uint32_t max_depth) {
  if (native.has_signal_frame || (thread.known == nullptr && !runs_javascript(thread, native))) {
    return runtimes::leave_native(native, frames, max_depth);
  }
  if (thread.known == nullptr) {
    thread.engine->add_before_call_callback(thread.isolate, before_call);
    return runtimes::leave_native(native, frames, max_depth);
  }
  if (holds_lock(*thread.engine, native)) {
    return runtimes::leave_native(native, frames, max_depth);
  }
  Sample sample;
  take(*thread.engine, thread.isolate, &sample);
  if (sample.count == 0) {
    return runtimes::leave_native(native, frames, max_depth);
  }
  thread.known->note_use();
  Merging merging(thread.known, native, sample);
  const WalkResult result = merging.run(frames, max_depth);
  if (merging.has_own() && !g_has_stacks.exchange(true, std::memory_order_relaxed)) {
    profiler::note_runtime_stacks(kRuntimeId, kStacksRead);
  }
  // Attached to a program that runs, it may be long until it makes new code.
  constexpr uint32_t kPatience = 16;
  if ((merging.has_unknown() && !thread.known->knows_all_code() &&
       (merging.has_own() || ++t_unknown_stacks >= kPatience)) ||
      thread.known->codes()->is_full()) {
    thread.known->want_all_code();
  }
  return result;
}

void look_at_thread() {
  if (t_kind == ThreadKind::kNotAsked) {
    const uint32_t id = platform::thread_id();
    t_kind = id != 0 && id == platform::process_id() ? ThreadKind::kMain : ThreadKind::kOther;
  }
  const RunningThread thread = t_kind == ThreadKind::kMain ? running_thread() : RunningThread{};
  if (thread.engine == nullptr) {
    return;
  }
  // It is the isolate's own: no thread of V8's is the main one.
  if (thread.known == nullptr) {
    thread.engine->add_before_call_callback(thread.isolate, before_call);
  }
  runtimes::look_in_events(kRuntime, false);
  runtimes::g_events_wanted.store(0, std::memory_order_relaxed);
}

void look_again_in_child() {
  t_kind = ThreadKind::kNotAsked;
}

void show_glue(bool on) {
  g_shows_glue.store(on, std::memory_order_relaxed);
}

}  // namespace memprof::v8
