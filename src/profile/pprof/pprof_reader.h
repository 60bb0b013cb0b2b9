// SPDX-License-Identifier: Apache-2.0
// Reads a pprof profile (profile.proto, plain or gzip) by anyone: memprof, Go, tcmalloc.  The bytes are not
// trusted: every index and length is checked, and what they can make us allocate is limited.
// docs/profile-format.md says what a profile of memprof carries beyond the values.
//
// Threads: no state.
// Failure: throws Error "NAME: what is wrong".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/model/error.h"
#include "profile/model/model.h"

namespace memprof::profile {

struct ReadOptions {
  uint64_t max_decompressed_bytes = uint64_t{2} << 30;
  // A gzip file may grow to this many times its size, or to 64 MiB where that is more.  Profiles have 2 to 10.
  uint64_t max_ratio = 50;
  // What the Profile may take, roughly: so many times the size of the file as it lies on the disk, or 512 MiB where that
  // is more, and never more than max_model_bytes.
  uint64_t max_model_ratio = 256;
  uint64_t max_model_bytes = uint64_t{8} << 30;
  std::string sample_type = {};  // this one alone is read, by its unit; empty: those that are of memory
};

// `name` stands in messages: the file's name as the user gave it.
Profile read_pprof(std::string_view data, const std::string& name, const ReadOptions& options = {});

// All that a descriptor has, such as standard input.
Profile read_pprof_from(int fd, const std::string& name, const ReadOptions& options = {});

Profile read_pprof_file(const std::string& path, const ReadOptions& options = {});

}  // namespace memprof::profile
