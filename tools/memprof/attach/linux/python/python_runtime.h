// SPDX-License-Identifier: Apache-2.0
// CPython in another process, and where it takes a script that it is to run (PEP 768, from 3.14 on).
//
// Model: the section .PyRuntime of the interpreter's file has where things are in its memory (_Py_DebugOffsets, which
// CPython keeps for debuggers).  The script goes to the main thread, whose state lives as long as the interpreter.
//
// Threads: no state.
// Failure: throws Failure with status 1: why it takes no script, and the way out.
#pragma once

#include <cstdint>
#include <string>

#include "memprof/attach/linux/target/target_memory.h"

namespace memprof::cli {

struct PythonRuntime {
  std::string version;  // "3.14"
  bool is_free_threaded = false;
  uint64_t eval_breaker = 0;  // addresses, of the main thread's state: what interrupts it,
  uint64_t pending_call = 0;  // 4 bytes; 1: there is a script
  uint64_t script_path = 0;   // and which
  uint64_t script_path_bytes = 0;
};

// `shown`: the process, in messages.
PythonRuntime find_python_runtime(uint64_t pid, const std::string& shown, const TargetMemory& memory);

}  // namespace memprof::cli
