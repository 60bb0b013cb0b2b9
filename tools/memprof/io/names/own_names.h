// SPDX-License-Identifier: Apache-2.0
// The cache of names that this command uses for all profiles that it names (profile/symbolize/cache/name_cache.h); none
// until open_own_names() is called.
//
// Where: $MEMPROF_NAME_CACHE; else memprof/names below $MEMPROF_CACHE_DIR, /var/cache for root, $XDG_CACHE_HOME or ~/.cache.
// Threads: opened before there are others; what it gives may be used by any.
#pragma once

#include <optional>
#include <string>

#include "profile/files/private_folder.h"

namespace memprof::profile {
class NameCache;
}

namespace memprof::cli {

// Where names are kept if nobody says else.  Nothing: no folder is known, or it is switched off.
std::optional<profile::PrivateFolder> usual_names_folder();

// `place`: the absolute path of a folder, or "off".  `who` gave it: an option or a variable.  Throws Failure.
std::optional<profile::PrivateFolder> names_folder_at(const std::string& who, const std::string& place);

// As the variables say; a wrong value is said, and nothing is kept then.
void open_own_names();
// There instead.
void use_own_names(const std::optional<profile::PrivateFolder>& folder);

// nullptr: there is none.
profile::NameCache* own_names();

// At the end.  Without a cache it does nothing.
void save_own_names();

}  // namespace memprof::cli
