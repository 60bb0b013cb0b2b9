// SPDX-License-Identifier: Apache-2.0
// What reading and writing files asks of the system beyond POSIX. Defined in a folder for each system.
//
// Threads: no state.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace memprof::profile {

// A descriptor, with close-on-exec, of the place that `path` names: for fstat(), and to be opened by
// open_place(). Nothing is opened yet, so that a device or a pipe notices nothing. `follows`: the last part of the path
// may be a symbolic link. -1: see errno.
int find_place(const std::string& path, bool follows);

// Opens what find_place() found, whatever has its name now, with `flags` of open(). -1: see errno (ENOENT: this system
// cannot tell here).
int open_place(int place, int flags);

// When the contents of a file were written last; 0: before 1970.
uint64_t written_unix_ns(const struct stat& status);

// When the contents or the inode (renamed, linked, mode changed) changed last, whichever is later.
uint64_t changed_unix_ns(const struct stat& status);

// Now, on the clock of both.
inline uint64_t now_unix_ns() {
  using std::chrono::nanoseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<nanoseconds>(now).count());
}

// The path of an open file, without symbolic links. Empty: unknown.
std::string path_of_descriptor(int fd);

// What the file is that this program runs, also when another one has its name by now. false: unknown.
bool find_own_program(struct stat* status);

// Gives the file `from` the name `to` if nothing has that name. Returns 0 or an errno; EINVAL or ENOSYS: the file system
// cannot do both in one step.
int rename_to_new_name(const char* from, const char* to);

}  // namespace memprof::profile
