// SPDX-License-Identifier: Apache-2.0
// Files, and errors of the system as text.  Must not be called from a hook.
//
// What holds for all services of the system: README.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

inline constexpr int kFileExists = -17;  // -EEXIST on every system that has errno
int file_create(const char* path);  // new file for writing, mode 0600; fails if it is there; a descriptor
int file_write(int fd, const void* data, size_t size_bytes);  // all of it
int file_close(int fd);
// A regular file for reading that others could have made: waits for nobody, opens no device, and follows no
// link at the end of the path.  A descriptor; -EINVAL: it is no regular file.
int file_open(const char* path, uint64_t* size_bytes);
// All of [offset, offset + size_bytes).  false: it is not there (any more).
bool file_read(int fd, uint64_t offset, void* bytes, size_t size_bytes);
// Where the bytes from `offset` on that have memory end; `offset`: there it has none.
uint64_t file_data_end(int fd, uint64_t offset);
// A regular file of the user that this process is, mapped for reading and writing together with all that map it, for
// as long as the process lives.  nullptr: it is not there, somebody else's, or not of this size.  Who shortens it ends
// this process where it touches the rest.
void* file_map(const char* path, size_t size_bytes);
int file_rename(const char* from, const char* to, bool overwrite);  // kFileExists if `to` is there
bool file_remove(const char* path);
bool file_exists(const char* path);
const char* error_text(int error);  // of -errno; static memory
void set_last_error(int error);     // errno = -error

}  // namespace memprof::platform
