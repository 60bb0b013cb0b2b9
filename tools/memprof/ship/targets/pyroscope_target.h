// SPDX-License-Identifier: Apache-2.0
// Pyroscope's Push API: a request for each look.  The labels of the look become those of the series, which is called
// "memory"; __delta__=false says that allocations are increments already.
//
// Pyroscope stores one time and one set of labels once, so a look that is sent again is not counted again (1.21).
//
// Failure: making one throws Failure.
#pragma once

#include <memory>
#include <string>

#include "memprof/io/http/http.h"
#include "memprof/ship/targets/target.h"

namespace memprof::cli {

bool is_pyroscope_url(const std::string& text);
std::unique_ptr<ShipTarget> make_pyroscope_target(const std::string& text, const TargetOptions& options);

// The body of a request.
std::string pyroscope_body(const Look& look, const std::string& spool_id);
// What an answer means.  `name`: of the target.
Sent pyroscope_answer(const HttpAnswer& answer, const std::string& name);

}  // namespace memprof::cli
