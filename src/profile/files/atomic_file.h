// SPDX-License-Identifier: Apache-2.0
// Writes a file that is either there as a whole or not there: into a temporary file in the same folder, which
// takes its name when it is complete.  A file that exists is replaced only when told so, without a race.
//
// A path that is a device or a pipe (/dev/null, /dev/stdout) is written to directly and never replaced.
// A symbolic link is followed.  The file is readable by its owner only.
//
// Threads: one object, one thread.
// Owns: the temporary file, which is removed unless commit() succeeds.
// Failure: throws Error "PATH: why, and what to do".
#pragma once

#include <string>
#include <string_view>

#include "format/sink.h"
#include "profile/model/error.h"

namespace memprof::profile {

enum class IfExists : unsigned char { kRefuse, kReplace };

class AtomicFile {
 public:
  AtomicFile(std::string path, IfExists if_exists);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view data);
  // The same for a writer in pieces.
  Sink sink();
  // For who writes by himself: only that, and before commit().
  int fd() const { return fd_; }
  void commit();

 private:
  void discard() noexcept;

  std::string path_;       // as given: for messages
  std::string target_;     // with symbolic links resolved
  std::string temporary_;  // empty: written directly
  IfExists if_exists_;
  int fd_ = -1;
};

// All of it in one go.
void write_file_atomically(const std::string& path, std::string_view data, IfExists if_exists);

}  // namespace memprof::profile
