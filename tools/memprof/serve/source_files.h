// SPDX-License-Identifier: Apache-2.0
// Source text beside a page that is served: of the files that its profile names, and of no others.
//
// Threads: the server's.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "memprof/serve/page_source.h"
#include "profile/model/model.h"

namespace memprof::cli {

class SourceFiles {
 public:
  // What the addresses of its files begin with, behind the page's; the path follows in hexadecimal digits.
  static constexpr char kAddress[] = "source-";

  // Those of the profile, too, may be asked for from now on.
  void know(const profile::Profile& profile);
  // "source-2f7372632f782e63": the lines of /src/x.c, as JSON.  Nothing: it is no such address, or the file is not at hand.
  std::optional<PageFile> file(const std::string& name) const;

 private:
  std::set<std::string> paths_;
  uint64_t time_unix_ns_ = 0;
};

}  // namespace memprof::cli
