// SPDX-License-Identifier: Apache-2.0
// The query API of a Pyroscope (1.21): requests of Connect's protocol, answered with JSON or with a profile.
//
// Threads: an object is one thread's.
// Failure: throws Failure "ADDRESS: why".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "memprof/io/http/http.h"
#include "memprof/io/http/http_access.h"
#include "memprof/io/pyroscope/pyroscope_query.h"

namespace memprof::cli {

class PyroscopeServer {
 public:
  // `address`: as the user gave it, for messages.
  PyroscopeServer(std::string address, PyroscopeQuery query, HttpAccess access);

  // An answer of the querier service, an object.  The range of time is added to the question.
  nlohmann::json ask(const std::string& method, nlohmann::json question);

  // SelectMergeProfile: what all looks of a profile type add up to, as pprof.  Empty: there is none.
  std::string profile_of(const std::string& type);

 private:
  HttpAnswer post(const std::string& method, const std::string& body, const char* content_type);

  const std::string address_;
  const PyroscopeQuery query_;
  const HttpAccess access_;
  Http http_;
};

}  // namespace memprof::cli
