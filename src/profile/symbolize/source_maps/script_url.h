// SPDX-License-Identifier: Apache-2.0
// Where a generated script says that its source map is, and URLs as paths.
//
// Threads: no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace memprof::profile {

// What the last comment `//# sourceMappingURL=` says; empty: there is none.
std::string_view source_mapping_url(std::string_view script);

// The content of `data:application/json;base64,...`, or with %XX.  Nothing: it is no such URL.
std::optional<std::string> data_of_url(std::string_view url);

// A file: URL as a path, a path as it is.  Empty: of another kind (https:, webpack:, node:), or not absolute.
std::string absolute_path(std::string_view url);

// A place that a map or a script names, seen from `folder`: a path without `..` in it; a URL of another kind than file: as it is.
std::string resolved(const std::string& folder, std::string_view url);

}  // namespace memprof::profile
