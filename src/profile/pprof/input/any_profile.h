// SPDX-License-Identifier: Apache-2.0
// Reads a profile of whatever form that memprof knows, by what it begins with: pprof, or one of those in
// profile/foreign; each plain or in gzip.
//
// Threads: no state.
// Failure: throws Error "NAME: what is wrong".
#pragma once

#include <string>

#include "profile/foreign/read_options.h"
#include "profile/model/model.h"

namespace memprof::profile {

// With a sample type in the options only pprof files are read: others have none.
Profile read_any(std::string data, const std::string& name, const ReadOptions& options = {});

// All that a descriptor has, such as standard input.
Profile read_any_from(int fd, const std::string& name, const ReadOptions& options = {});

// The file is opened once: it may be a pipe.
Profile read_any_file(const std::string& path, const ReadOptions& options = {});

}  // namespace memprof::profile
