// SPDX-License-Identifier: Apache-2.0
// A folder of our own for the time of a run, for what the program writes before we finish it.
//
// Owns: the folder and all in it; removed with the object, unless it is kept.
// Failure: throws Failure.
#pragma once

#include <string>

namespace memprof::cli {

class TemporaryFolder {
 public:
  // In $TMPDIR or /tmp.
  TemporaryFolder();
  // PARENT/NAME and six characters.
  TemporaryFolder(const std::string& parent, const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }  // absolute
  void keep() { is_kept_ = true; }

 private:
  std::string path_;
  bool is_kept_ = false;
};

}  // namespace memprof::cli
