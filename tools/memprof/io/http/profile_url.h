// SPDX-License-Identifier: Apache-2.0
// A profile that a server has: an address of HTTP in the place of a file, such as
// http://127.0.0.1:6060/debug/pprof/heap of a Go program.
//
// Environment: http_proxy, https_proxy, no_proxy; CURL_CA_BUNDLE names the file of the authorities to trust, where
// --ca-file does not; ~/.netrc has names and passwords.
//
// Failure: throws Failure "URL: why".
#pragma once

#include <string>

#include "memprof/io/http/http_access.h"

namespace memprof::cli {

// Whether `text` begins as an address does: http:// or https://.
bool is_profile_url(const std::string& text);

// What the server answers with, of at most 1 GiB and within 5 minutes.  An address with a name and a password in it is
// refused: it would stand in reports and pages.
std::string fetch_profile(const std::string& url, const HttpAccess& access = {});

// Throws for an address with a name or a password in it; the message does not repeat it.
void require_no_user(const std::string& url);

}  // namespace memprof::cli
