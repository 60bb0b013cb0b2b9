// SPDX-License-Identifier: Apache-2.0
// What a client of debuginfod asks for: /buildid/ID/debuginfo or /buildid/ID/executable.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memprof::cli {

enum class BuildPart { kDebuginfo, kExecutable };

struct BuildRequest {
  std::string build_id;  // lower-case hex
  BuildPart part = BuildPart::kDebuginfo;
};

// Whether build ids may have so many digits: of 4 to 64 bytes.
bool is_id_size(size_t digits);

// Whether it is a path of debuginfod's, right or wrong.
bool is_build_path(std::string_view target);

// false: *why says what is wrong with it, and *status is that of HTTP: 400 where it is malformed, 404 where it asks for
// what is not served.
bool parse_build_request(std::string_view target, BuildRequest* request, unsigned* status, std::string* why);

}  // namespace memprof::cli
