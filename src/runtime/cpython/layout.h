// SPDX-License-Identifier: Apache-2.0
// Where an interpreter keeps what a stack needs: offsets in its structures, for each version from 3.11 on.
// Source: Include/internal of each version; from 3.13 on _PyRuntime begins with a table of offsets
// (_Py_DebugOffsets), whose own layout differs between versions.
//
// Threads, signals, fork: plain values.
// Allocates: never.
// Failure: false for a version that is not known.  That offsets are right is seen on a real stack
// (runtime/cpython/stacks.h).
#pragma once

#include <cstdint>

#include "runtime/cpython/interpreter.h"

namespace memprof::cpython {

// Offsets in bytes.
struct Layout {
  // PyThreadState: the current frame; 3.11 and 3.12: a _PyCFrame on the C stack, which has it.
  uint32_t thread_frame;
  bool has_cframe;
  uint32_t cframe_frame;
  uint32_t cframe_previous;
  uint32_t thread_id;  // 3.11 only

  // _PyInterpreterFrame
  uint32_t frame_code;
  uint32_t frame_previous;
  uint32_t frame_instruction;
  uint32_t frame_owner;
  uint32_t frame_is_entry;        // 3.11 only
  uint32_t frame_bytecode_index;  // free-threaded builds from 3.14 on; else 0
  bool has_entry_frames;          // from 3.12 on the evaluation loop has a frame of its own on the C stack

  // PyCodeObject
  uint32_t code_file;
  uint32_t code_name;  // co_qualname
  uint32_t code_lines;
  uint32_t code_first_line;
  uint32_t code_first_traceable;
  uint32_t code_bytecode;
  uint32_t code_thread_bytecode;  // as frame_bytecode_index

  // Objects
  uint32_t object_type;
  uint32_t text_length;
  uint32_t text_state;
  uint32_t text_ascii;    // characters of an ASCII string
  uint32_t text_compact;  // of another one
  uint32_t text_kind_shift;
  uint32_t bytes_size;
  uint32_t bytes_data;
};

bool find_layout(const Interpreter& interpreter, Layout* layout);

}  // namespace memprof::cpython
