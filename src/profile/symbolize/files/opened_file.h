// SPDX-License-Identifier: Apache-2.0
// A file of others, opened: its bytes, and what they are worth.
//
// Threads: no state.
#pragma once

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

  std::string_view bytes() const {
    return image != nullptr ? std::string_view(image->data(), image->size()) : std::string_view();
  }
};

// false: it cannot be read, and *why says so ("no such file or directory", "permission denied", "not a regular file"
// ...).  Never blocks, whatever the path is (pipe, device).
bool open_file(const std::string& path, OpenedFile* file, std::string* why);

}  // namespace memprof::profile
