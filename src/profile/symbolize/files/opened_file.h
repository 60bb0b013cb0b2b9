// SPDX-License-Identifier: Apache-2.0
// A file of others, opened: its bytes, and what they are worth.
//
// Threads: no state.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "profile/symbolize/files/file_image.h"

namespace memprof::profile {

struct OpenedFile {
  std::string path;
  std::unique_ptr<FileImage> image;  // nullptr: the file is empty
  // Only root and this user can change the file; else the image is a copy.
  bool is_trusted = true;
  // When the contents or the inode (renamed, linked, mode changed) changed last, whichever is later; 0: unknown.
  uint64_t changed_unix_ns = 0;
  // Which file, of which content: device, inode, size, times.  Empty: others can change it, or it changed so lately that it
  // may change again without another time.
  std::string identity;

  std::string_view bytes() const {
    return image != nullptr ? std::string_view(image->data(), image->size()) : std::string_view();
  }
};

// Device, inode, size, and the times when the contents and the inode changed last.
std::string identity_of(const struct stat& status);

// false: it cannot be read, and *why says so ("no such file or directory", "permission denied", "not a regular file"
// ...).  Never blocks, whatever the path is (pipe, device).
bool open_file(const std::string& path, OpenedFile* file, std::string* why);

}  // namespace memprof::profile
