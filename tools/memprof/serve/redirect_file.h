// SPDX-License-Identifier: Apache-2.0
// A page on disk that leads a browser to an address which no other user may learn.
//
// Every user can read the arguments of every program (/proc/PID/cmdline).  So a browser is started with the path of
// this page, and the page holds the address: a file of mode 0600 in a folder of mode 0700.
//
// Owns: the folder and the file; removed with the object.
// Failure: throws Failure.
#pragma once

#include <string>

#include "memprof/io/temporary_folder.h"

namespace memprof::cli {

class RedirectFile {
 public:
  explicit RedirectFile(const std::string& address);

  const std::string& path() const { return path_; }  // absolute

 private:
  TemporaryFolder folder_;
  std::string path_;
};

}  // namespace memprof::cli
