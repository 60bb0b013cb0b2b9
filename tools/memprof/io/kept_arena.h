// SPDX-License-Identifier: Apache-2.0
// The arena of a process, kept for the time after its end: a process that ends by itself removes it.
//
// Threads: one command's own.
// Owns: a descriptor, and the copy in a temporary folder.
// Failure: throws Failure.
#pragma once

#include <optional>
#include <string>

#include "memprof/io/temporary_folder.h"

namespace memprof::cli {

class KeptArena {
 public:
  // From now on.
  explicit KeptArena(std::string path);
  ~KeptArena();
  KeptArena(const KeptArena&) = delete;
  KeptArena& operator=(const KeptArena&) = delete;

  // Whether the path is another file's now: the process executes another program.
  bool is_replaced() const;

  // Path of a copy as of the first call, which goes away with this object.
  std::string copy();

 private:
  const std::string path_;
  int file_ = -1;
  std::optional<TemporaryFolder> folder_;
  std::string copy_;
};

}  // namespace memprof::cli
