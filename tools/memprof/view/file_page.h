// SPDX-License-Identifier: Apache-2.0
// The page of a file, as the file is when a browser asks for it: who reloads the page sees what others have put in
// the file's place.
//
// Threads: the server's.
// Failure: the constructor throws what reading throws.  Later the page stays as it was read last, and one line on
// standard error says why.
#pragma once

#include <functional>
#include <string>

#include "memprof/serve/page_source.h"

namespace memprof::cli {

class FilePage : public PageSource {
 public:
  // `read`: the page of the file, which may throw profile::Error and Failure.
  FilePage(std::string path, std::function<std::string()> read);

  std::string page() override;

 private:
  const std::string path_;
  const std::function<std::string()> read_;
  std::string state_;  // of the file, when it was read
  std::string text_;
};

}  // namespace memprof::cli
