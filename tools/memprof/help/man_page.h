// SPDX-License-Identifier: Apache-2.0
// Manual pages (man(7)), made of what commands say of themselves.
#pragma once

#include <string>
#include <vector>

#include "memprof/help/completion.h"

namespace memprof::cli {

// The page memprof-COMMAND(1).  `all`: the others that it refers to.
std::string man_page(const CommandText& command, const std::vector<CommandText>& all,
                     const std::string& version);

// The page memprof(1).
std::string man_page_of_all(const std::string& about, const std::vector<CommandText>& all,
                            const std::string& version);

}  // namespace memprof::cli
