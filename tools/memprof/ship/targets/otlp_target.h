// SPDX-License-Identifier: Apache-2.0
// A collector of OpenTelemetry's, or another server that takes its profiles signal over HTTP: a request for each look, in
// protobuf of opentelemetry-proto 1.11.0.  The labels of the look become attributes of the resource.
//
// A look that is sent again has the same time and the same ids of profiles.  Whether that is counted twice is the server's.
//
// Failure: making one throws Failure.
#pragma once

#include <memory>
#include <string>

#include "memprof/io/http/http.h"
#include "memprof/ship/targets/target.h"
#include "profile/otlp/otlp_writer.h"

namespace memprof::cli {

bool is_otlp_url(const std::string& text);
std::unique_ptr<ShipTarget> make_otlp_target(const std::string& text, const TargetOptions& options);

// The request without its compression.  Throws profile::Error where the look has no profile.
profile::OtlpRequest otlp_request(const Look& look, const std::string& spool_id);
// What an answer to so many profiles means.  `name`: of the target.
Sent otlp_answer(const HttpAnswer& answer, const std::string& name, size_t profiles);

}  // namespace memprof::cli
