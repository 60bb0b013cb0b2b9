// SPDX-License-Identifier: Apache-2.0
// A few facts in a file of one page, which is written over in place: a full disk does not stop that, and who is killed
// leaves what was before or what is after.
//
// Threads: one object, one thread at a time.
// Owns: the descriptor, and the lock.
// Failure: throws Failure where it cannot be opened or made; write() says false.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memprof::cli {

class KeptPage {
 public:
  static constexpr size_t kBytes = 4096;

  // Makes it, readable by its owner only, where it is not there.  No link is followed.
  explicit KeptPage(std::string path);
  ~KeptPage();
  KeptPage(const KeptPage&) = delete;
  KeptPage& operator=(const KeptPage&) = delete;

  // false: another process has it.  A process that ends, however, gives it back.
  bool lock();

  // Without the blanks at its end; "": nothing was written yet.
  std::string read() const;
  bool write(std::string_view text);

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace memprof::cli
