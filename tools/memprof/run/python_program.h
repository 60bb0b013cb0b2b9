// SPDX-License-Identifier: Apache-2.0
// `memprof run script.py` and `memprof run -m package.module`: commands that need an interpreter of Python.
//
// The interpreter is that of the wheel through which the command was started (it sets
// MEMPROF_PYTHON_PROGRAM), else python3 of PATH.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// The command that is executed: as it was given, or with the interpreter before it.
std::vector<std::string> with_python(const std::vector<std::string>& command);

}  // namespace memprof::cli
