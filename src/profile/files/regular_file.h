// SPDX-License-Identifier: Apache-2.0
// Opens files that another user may have created or whose path comes from a profile.
//
// Threads: no state.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace memprof::profile {

enum class Links { kFollow, kRefuse };  // where the last part of the path is a symbolic link

// Opens for reading; returns a descriptor with close-on-exec.  Never blocks, and opens regular files only: the
// type is checked before, because opening a device can have effects.  -1: see errno (EINVAL: not a regular
// file).
int open_regular_file(const std::string& path, Links links, struct stat* status);

// Reads at an offset; the descriptor's position stays.  false: not all of it is there, or it cannot be read.
bool read_at(int fd, uint64_t offset, void* to, size_t size);

// Whether only root and this user can write to the file, so that its contents can be trusted.
bool is_trusted(const struct stat& status);

}  // namespace memprof::profile
