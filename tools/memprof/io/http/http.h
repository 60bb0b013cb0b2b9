// SPDX-License-Identifier: Apache-2.0
// A request over HTTP, by libcurl: TLS, proxies (http_proxy, https_proxy, no_proxy), connections that stay open.
//
// Threads: an object is one thread's.
// Failure: an answer with status 0 and an error.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memprof/io/http/http_access.h"

namespace memprof::cli {

struct HttpRequest {
  std::string url;
  std::string body;
  std::vector<std::string> headers;  // "Name: value"
  std::string user_password;         // "NAME:PASSWORD"; empty: none
  std::string ca_file;               // empty: the system's
  bool reads_netrc = false;          // a name and a password from ~/.netrc where it has them for the server
  long seconds = 30;                 // for all of it
  size_t max_answer_bytes = 4096;    // of what the server answers with
  bool must_be_whole = false;        // more than that is an error
  // When it is given up, in nanoseconds of the steady clock; may be changed meanwhile.  nullptr: never before `seconds`.
  const std::atomic<int64_t>* end_ns = nullptr;
};

struct HttpAnswer {
  int status = 0;  // 0: there is none
  std::string error;
  bool was_sent = false;  // the request may have arrived
  std::string body;       // no more of it than was asked for
  std::optional<double> retry_after_seconds;
};

// Puts secrets and certificates into a request.  Files are read anew each time: tokens change.  Throws Failure.
void add_http_access(const HttpAccess& access, HttpRequest* request);

class Http {
 public:
  Http();
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  HttpAnswer post(const HttpRequest& request);
  // Has no body.  Goes where the server redirects it to, and reads ~/.netrc.  What is larger than `max_answer_bytes` is an
  // error.
  HttpAnswer get(const HttpRequest& request);

 private:
  struct Handle;
  HttpAnswer send(const HttpRequest& request, bool is_get);

  std::unique_ptr<Handle> handle_;
};

// Why this build cannot; empty: it can.
std::string why_no_http();

}  // namespace memprof::cli
