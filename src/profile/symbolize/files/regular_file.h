// SPDX-License-Identifier: Apache-2.0
// Opens files that somebody else could have made, or could have named.
//
// Threads: no state.
#pragma once

#include <sys/stat.h>

#include <string>

namespace memprof::profile {

enum class Links { kFollow, kRefuse };  // where the last part of the path is a symbolic link

// For reading; a descriptor, which is closed on exec.  Waits for nobody, and opens nothing but a regular
// file: not even to look at it, as the opening of a device is an act.  -1: see errno (EINVAL: no regular
// file).
int open_regular_file(const std::string& path, Links links, struct stat* status);

// Whether nobody but root and this user can write to the file: what it says may be believed twice.
bool is_trusted(const struct stat& status);

}  // namespace memprof::profile
