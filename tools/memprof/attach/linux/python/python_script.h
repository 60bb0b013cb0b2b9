// SPDX-License-Identifier: Apache-2.0
// Has a running Python run a script (PEP 768), in its main thread, between two instructions of its code.
//
// Model: the script lies in a folder that both see; it puts what it has to say into another file there.  Nothing of the
// process is stopped, and nothing but the interpreter's own place for a script is written.
//
// Threads: one at a time.
// Failure: throws Failure with status 1.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "memprof/attach/linux/python/shared_folder.h"

namespace memprof::cli {

// As an expression of Python, whatever the bytes are: a bytes object, and the path that they are.
std::string python_bytes(const std::string& bytes);
std::string python_path(const std::string& path);

// `body`: the lines of a function, indented by four spaces; what it returns is returned here (a str).  It is made when the
// folder is there.  `wait`: until the main thread has run it.
std::string run_python_script(uint64_t pid, const std::string& shown, std::chrono::milliseconds wait,
                              const std::function<std::string(SharedFolder* folder)>& body);

}  // namespace memprof::cli
