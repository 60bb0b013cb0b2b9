// SPDX-License-Identifier: Apache-2.0
// A file that grows by whole pieces: a piece that does not fit (a full disk) leaves the file as it was.
//
// The file is readable by its owner only.  It must not exist before, unless it may be replaced.  It is locked
// (fcntl, of the open file) for as long as it may grow, so that a reader can tell: a writer that is killed leaves no lock.
//
// Threads: one object, one thread.  Others may read the file meanwhile: they see a piece in part for as long
// as it is written.
// Failure: throws Error "PATH: why, and what to do".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/files/atomic_file.h"

namespace memprof::profile {

class GrowingFile {
 public:
  // Makes the file, with this at its beginning.
  GrowingFile(std::string path, std::string_view beginning, IfExists if_exists);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  void append(std::string_view piece);
  // Puts other content in its place, as a whole.
  void replace(std::string_view content);

  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  void open_at_end();

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

// Whether somebody has the file open as a GrowingFile, on this machine.  false: nobody has, it cannot be read, or its
// file system knows no locks.  Right after its content was replaced it may be false for a moment.
bool is_growing(const std::string& path);

}  // namespace memprof::profile
