// SPDX-License-Identifier: Apache-2.0
// Leaves frames of another process whose code no unwind table describes, by that code (platform/code/code_rule.h): musl's
// own, and of programs that C compilers link with it.
//
// Threads: one object is one thread's.
// Owns: copies of the images.
// Failure: a frame that cannot be left for certain is unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "memprof/attach/linux/target/target_image.h"
#include "memprof/attach/linux/target/target_memory.h"

namespace memprof::cli {

struct FrameRegisters {
  uint64_t pc = 0;
  uint64_t sp = 0;
  uint64_t bp = 0;
};

class UntabledFrames {
 public:
  // Copies the images, so that leaving a frame reads the stack alone.  `c_library` is one of them.
  UntabledFrames(const TargetMemory& memory, const std::vector<TargetImage>& images,
                 const TargetImage& c_library);
  ~UntabledFrames();
  UntabledFrames(const UntabledFrames&) = delete;
  UntabledFrames& operator=(const UntabledFrames&) = delete;

  enum class Left { kToCaller, kIsRoot, kUnknown };
  // `registers->pc`: the instruction that executes, or a return address; becomes the caller's.
  using ReadWord = std::function<bool(uint64_t address, uint64_t* word)>;
  Left leave(FrameRegisters* registers, const ReadWord& read) const;

 private:
  struct Copy;
  std::vector<Copy> copies_;
};

}  // namespace memprof::cli
