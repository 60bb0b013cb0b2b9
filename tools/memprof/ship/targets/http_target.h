// SPDX-License-Identifier: Apache-2.0
// What targets behind HTTP have in common: the URL that a user gave, and requests with his secrets.
//
// Threads: no state.
// Failure: check_http_target() throws Failure.
#pragma once

#include <string>

#include "memprof/io/http/http.h"
#include "memprof/ship/targets/target.h"

namespace memprof::cli {

// Whether a text begins with SCHEMEhttp:// or SCHEMEhttps://, as with "otlp+".
bool is_http_url(const std::string& text, const std::string& scheme = "");

// The URL without slashes at its end, and without its scheme.  Throws for a URL that names no host, or has a password or
// parameters in it, and where a file of `options` cannot be used.
std::string check_http_target(const std::string& text, const TargetOptions& options,
                              const std::string& scheme = "");

// Sends it with the token, the password and the certificates of `options`; files are read anew.  `is_last`: waits for some
// seconds only.
HttpAnswer post_to_target(Http& http, HttpRequest request, const TargetOptions& options, bool is_last);

// What an answer without success is worth, but for its status.  `name`: of the target.
Sent without_answer(const HttpAnswer& answer, const std::string& name);

}  // namespace memprof::cli
