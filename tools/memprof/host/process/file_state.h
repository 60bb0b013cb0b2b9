// SPDX-License-Identifier: Apache-2.0
// Tells whether a file is another one than before, or has other content.
//
// Threads: no state.
// Failure: none; a file that is not there has a state, too.
#pragma once

#include <string>

namespace memprof::cli {

// Its size, time and inode as text: another text, another content.  Empty: there is no such file.
std::string file_state(const std::string& path);

}  // namespace memprof::cli
