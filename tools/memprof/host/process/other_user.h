// SPDX-License-Identifier: Apache-2.0
// What to do where the system does not let this user look at a process, or read a file of another user.
//
// Threads: no state.
#pragma once

#include <unistd.h>

#include <string>

namespace memprof::cli {

// Advice for after "; " or "-> ".  Root without the right is in a container, or in a namespace of its own.
inline std::string how_to_look(bool is_root = geteuid() == 0) {
  return is_root ? "root has not the capability SYS_PTRACE here: give it to the container (docker run "
                   "--cap-add SYS_PTRACE), or try from the host"
                 : "try as its user, or as root";
}

}  // namespace memprof::cli
