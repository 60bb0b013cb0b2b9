// SPDX-License-Identifier: Apache-2.0
// The frames of a snapshot by their names, and the place that a stack counts for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memprof.h"

namespace memprof::node {

struct Frame {
  std::string function;
  std::string file;  // of native code: the executable or library
  uint32_t line = 0;
  bool is_javascript = false;
};

class Frames {
 public:
  // Reads the snapshot, which must outlive it.  With names of exported native functions where
  // memprof_resolve_symbols was called before.
  explicit Frames(const memprof_snapshot* snapshot);

  // Of a stack, leaf first: indices for at().  Equal frames have one index.
  std::vector<uint32_t> stack(uint32_t stack_id);
  const Frame& at(uint32_t index) const { return frames_[index]; }

  // As reports choose it: the innermost line of the program's own JavaScript, else of node's scripts, else the
  // native function that called the allocator.  An index for at().
  uint32_t place(uint32_t stack_id);

  // Whether it is JavaScript of the program, and not of Node's own scripts.
  bool is_own(uint32_t index) const;

 private:
  uint32_t add(uint64_t position);
  uint32_t intern(Frame frame);
  Frame read(uint64_t position) const;
  Frame read_native(uint64_t position) const;
  std::string_view text(uint64_t offset) const { return strings_ + offset; }

  uint64_t module_count_ = 0;  // first: it is filled in with modules_
  const memprof_stack* stacks_;
  const uint64_t* addresses_;
  const uint32_t* frame_modules_;
  const memprof_runtime_frame* runtime_frames_;
  const memprof_module* modules_;
  const memprof_symbol* symbols_;  // nullptr: native functions have no names
  const char* strings_;

  std::vector<Frame> frames_;
  std::unordered_map<std::string, uint32_t> by_text_;
  std::unordered_map<uint64_t, uint32_t> by_address_;  // per module: see add
  std::unordered_map<uint32_t, uint32_t> places_;
};

}  // namespace memprof::node
