// SPDX-License-Identifier: Apache-2.0
// Source text beside a page that is served: of the files that its profile names and that a rule allows
// (profile/files/source_file.h), and of no others.
//
// Threads: the server's.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "memprof/serve/page_source.h"
#include "profile/files/source_file.h"
#include "profile/model/model.h"

namespace memprof::cli {

class SourceFiles {
 public:
  // What the addresses of its files begin with, behind the page's; the path follows in hexadecimal digits.
  static constexpr char kAddress[] = "source-";

  explicit SourceFiles(profile::SourceRule rule) : rule_(std::move(rule)) {}

  // Those of the profile, too, may be asked for from now on.
  void know(const profile::Profile& profile);
  // What is known was not made by this user alone.
  void distrust() { rule_.is_own = false; }
  // "source-2f7372632f782e63": the lines of /src/x.c, as JSON.  Nothing: it is no such address, or the file is not at hand
  // or not allowed.
  std::optional<PageFile> file(const std::string& name) const;

 private:
  profile::SourceRule rule_;
  std::set<std::string> paths_;
  uint64_t time_unix_ns_ = 0;
};

}  // namespace memprof::cli
