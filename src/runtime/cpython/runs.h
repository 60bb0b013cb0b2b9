// SPDX-License-Identifier: Apache-2.0
// The Python frames of a thread, leaf first, in runs: a run is what one activation of the evaluation loop
// executes, and ends with what that activation has on the C stack: from 3.12 on an entry frame, before that a
// _PyCFrame.  The native frame whose memory that lies in is the loop (runtime/merge.h).
//
// Threads: the calling thread's own frames.
// Signals: with CopiedMemory or CheckedMemory.
// Allocates: never.
// Failure: what cannot be read ends the frames.
#pragma once

#include <cstdint>

#include "format/runtime_frame.h"
#include "runtime/cpython/codes.h"
#include "runtime/cpython/layout.h"
#include "runtime/cpython/memory.h"

namespace memprof::cpython {

struct Run {
  uint64_t first;     // the frame at the leaf's end
  uint32_t count;     // frames, those that tracebacks leave out included
  uint64_t boundary;  // an address in the memory of the loop's native frame; 0: not known
};

// What is done with frames on the way to the end of their run.
enum class Pass {
  kEncode,  // the first ones are made words at once, so that they are passed through but once
  kLook,    // nothing is known of the interpreter yet
};

template <typename Memory, Pass kPass>
class Runs {
 public:
  using Run = cpython::Run;
  static constexpr uint32_t kMaxFrames = 4096;  // of a run

  Runs(const Interpreter& interpreter, const Layout& layout, uint64_t thread, const StackRange& stack)
      : interpreter_(interpreter), layout_(layout), stack_(stack), memory_(stack), cache_(code_cache()) {
    memory_.read(thread + layout.thread_frame, &at_);
  }

  // false: there are no more.
  bool next(Run* run) {
    *run = {at_, 0, 0};
    return layout_.has_entry_frames ? next_by_entry_frame(run) : next_by_cframe(run);
  }

  // Calls add(frame words, count) and add(frame word) for the frames of the run, just found, that a traceback shows, until
  // it returns false.
  template <typename Add>
  [[gnu::always_inline]] bool each(const Add& add) const {
    if (!add(words_, word_count_)) {
      return false;
    }
    uint64_t frame = first_left_;
    for (uint32_t i = 0; i < frames_left_ && Memory::may_be(frame); ++i) {
      uint8_t owner = 0;
      uint64_t word = 0;
      if (memory_.read(frame + layout_.frame_owner, &owner) && encode(frame, owner, &word) && !add(word)) {
        return false;
      }
      if (!memory_.read(frame + layout_.frame_previous, &frame)) {
        break;
      }
    }
    return true;
  }

  // Is each of the run a frame of code that is laid out as expected, at an instruction of it?
  bool is_sound(const Run& run) const {
    uint64_t frame = run.first;
    for (uint32_t i = 0; i < run.count; ++i) {
      uint8_t owner = 0;
      uint64_t object = 0;
      if (!memory_.read(frame + layout_.frame_owner, &owner) || !read_code(frame, &object)) {
        return false;
      }
      int64_t position = 0;
      uint64_t units = 0;
      if (owner < kOwnedByInterpreter &&
          (!is_code(interpreter_, layout_, object) || !read_position(frame, object, &position) ||
           !memory_.read(object + layout_.bytes_size, &units) || position < -kCodeUnit ||
           position > static_cast<int64_t>(units) * kCodeUnit)) {
        return false;
      }
      if (!memory_.read(frame + layout_.frame_previous, &frame)) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr uint8_t kOwnedByGenerator = 1;
  static constexpr uint8_t kOwnedByInterpreter = 3;
  static constexpr int64_t kCodeUnit = 2;
  static constexpr uint32_t kMaxWords = 128;

  // at_ is the next frame.
  bool next_by_entry_frame(Run* run) {
    if (!is_started_) {
      is_started_ = true;
      if (layout_.has_cframe) {
        const uint64_t cframe = at_;
        at_ = 0;
        if (Memory::may_be(cframe)) {
          memory_.read(cframe + layout_.cframe_frame, &at_);
        }
      }
      run->first = at_;
    }
    pass<true>(run);
    return run->count != 0 || run->boundary != 0;
  }

  // at_ is the next _PyCFrame; the last is the thread state's own, with no frame.
  bool next_by_cframe(Run* run) {
    const uint64_t cframe = at_;
    if (!Memory::may_be(cframe) || !memory_.read(cframe + layout_.cframe_frame, &run->first) ||
        run->first == 0 || !memory_.read(cframe + layout_.cframe_previous, &at_)) {
      at_ = 0;
      return false;
    }
    run->boundary = stack_.contains(cframe) ? cframe : 0;
    pass<false>(run);
    return true;
  }

  // To the end of the run, making words of its first frames.
  template <bool kHasEntryFrames>
  [[gnu::always_inline]] void pass(Run* run) {
    uint64_t frame = run->first;
    uint64_t previous = 0;
    uint8_t owner = 0;
    uint32_t count = 0;
    uint32_t words = 0;
    bool goes_on = true;
    if (kPass == Pass::kEncode) {
      while (count < kMaxWords && (goes_on = enter<kHasEntryFrames>(frame, run, &owner, &previous))) {
        words += encode(frame, owner, &words_[words]) ? 1 : 0;
        ++count;
        frame = previous;
      }
    }
    word_count_ = words;
    frames_left_ = 0;
    first_left_ = frame;
    for (; goes_on && count < kMaxFrames && (goes_on = enter<kHasEntryFrames>(frame, run, &owner, &previous));
         ++count, ++frames_left_) {
      frame = previous;
    }
    if (kHasEntryFrames && goes_on) {
      at_ = 0;  // too many
    }
    run->count = count;
  }

  // false: the run has ended before `frame`.
  template <bool kHasEntryFrames>
  [[gnu::always_inline]] bool enter(uint64_t frame, Run* run, uint8_t* owner, uint64_t* previous) {
    uint8_t is_entry = 0;
    if (!Memory::may_be(frame) || !memory_.read(frame + layout_.frame_owner, owner) ||
        !memory_.read(frame + layout_.frame_previous, previous) ||
        (!kHasEntryFrames && !memory_.read(frame + layout_.frame_is_entry, &is_entry))) {
      at_ = kHasEntryFrames ? 0 : at_;
      return false;
    }
    if (kHasEntryFrames && *owner >= kOwnedByInterpreter && stack_.contains(frame)) {
      run->boundary = frame;
      at_ = *previous;
      return false;
    }
    if (is_entry != 0 && !(*owner == kOwnedByGenerator && is_thrown_through(*previous))) {
      *previous = 0;  // the last of its run
    }
    return true;
  }

  // Is the generator's frame before this one no loop's own?  3.11: throw() into a chain of generators puts
  // the frames of the outer ones above those of the loop that runs, and each says that it was entered, as it
  // once was.  The frame that a loop was really entered for has behind it the one that the loop before is at.
  [[gnu::noinline]] bool is_thrown_through(uint64_t frame) const {
    uint64_t of_loop_before = 0;
    if (!Memory::may_be(at_) || !memory_.read(at_ + layout_.cframe_frame, &of_loop_before)) {
      return false;
    }
    for (uint32_t i = 0; i < kMaxFrames && frame != of_loop_before && Memory::may_be(frame); ++i) {
      uint8_t is_entry = 0;
      uint8_t owner = 0;
      uint64_t previous = 0;
      if (!memory_.read(frame + layout_.frame_is_entry, &is_entry) ||
          !memory_.read(frame + layout_.frame_owner, &owner) ||
          !memory_.read(frame + layout_.frame_previous, &previous)) {
        return false;
      }
      if (is_entry != 0 && (previous == of_loop_before || owner != kOwnedByGenerator)) {
        return previous == of_loop_before;  // else linked in another way, by who switches stacks
      }
      frame = previous;
    }
    return false;
  }

  [[gnu::always_inline]] bool read_code(uint64_t frame, uint64_t* object) const {
    const bool is_read = memory_.read(frame + layout_.frame_code, object);
    *object &= ~uint64_t{3};  // tags of a stack reference, from 3.14 on
    return is_read;
  }

  [[gnu::always_inline]] bool read_position(uint64_t frame, uint64_t object, int64_t* position) const {
    uint64_t instruction = 0;
    if (!memory_.read(frame + layout_.frame_instruction, &instruction)) {
      return false;
    }
    uint64_t bytecode = object + layout_.code_bytecode;
    if (layout_.code_thread_bytecode != 0) {
      // Each thread has a copy of its own: a size, then the copies.
      uint64_t copies = 0;
      int32_t index = 0;
      if (!memory_.read(object + layout_.code_thread_bytecode, &copies) || !Memory::may_be(copies) ||
          !memory_.read(frame + layout_.frame_bytecode_index, &index) || index < 0 ||
          !memory_.read(copies + sizeof(uint64_t) * (1 + static_cast<uint64_t>(index)), &bytecode)) {
        return false;
      }
    }
    *position = static_cast<int64_t>(instruction - bytecode);
    return true;
  }

  // Of a frame that a traceback shows.
  [[gnu::always_inline]] bool encode(uint64_t frame, uint8_t owner, uint64_t* word) const {
    uint64_t object = 0;
    int64_t position = 0;
    if (owner >= kOwnedByInterpreter || !read_code(frame, &object) ||
        !read_position(frame, object, &position)) {
      return false;
    }
    const CodeWord code = find_code<typename Memory::Once>(interpreter_, layout_, object, cache_);
    const int64_t first_traceable = position_of(code);
    if (__builtin_expect(position < first_traceable, 0)) {
      // It does not run yet; that of a generator was there before.
      if (owner != kOwnedByGenerator) {
        return false;
      }
      position = position > 0 ? position : 0;
    }
    *word = code - static_cast<uint64_t>(first_traceable) + static_cast<uint32_t>(position);
    return code != 0;
  }

  const Interpreter& interpreter_;
  const Layout& layout_;
  const StackRange stack_;
  const Memory memory_;
  const CodeCache cache_;
  uint64_t at_ = 0;
  bool is_started_ = false;
  // Of the run that was found last: words, and the frames that found no room.
  uint64_t words_[kMaxWords];
  uint32_t word_count_ = 0;
  uint32_t frames_left_ = 0;
  uint64_t first_left_ = 0;
};

}  // namespace memprof::cpython
