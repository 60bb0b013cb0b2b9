// SPDX-License-Identifier: Apache-2.0
// --listen ADDRESS:PORT of memprof ship.
//
// Failure: throws Failure.
#pragma once

#include <string>

#include "memprof/serve/http_server.h"

namespace memprof::cli {

// "4041" (of 127.0.0.1), "10.0.0.7:4041", "[::1]:4041".  Whether there is such an address is seen when it is taken.
HttpAddress parse_listen_address(const std::string& text);

}  // namespace memprof::cli
