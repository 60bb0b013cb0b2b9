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

#include "profile/foreign/read_options.h"
#include "profile/model/error.h"
#include "profile/model/model.h"

namespace memprof::profile {

// `name` stands in messages: the file's name as the user gave it.
Profile read_pprof(std::string_view data, const std::string& name, const ReadOptions& options = {});

struct ProfileBytes;
// Of bytes that are out of gzip already.
Profile read_unpacked_pprof(const ProfileBytes& bytes, const std::string& name, const ReadOptions& options);

Profile read_pprof_file(const std::string& path, const ReadOptions& options = {});

}  // namespace memprof::profile
