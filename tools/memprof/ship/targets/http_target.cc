// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/http_target.h"

#include <utility>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

constexpr long kSeconds = 30;
constexpr long kLastSeconds = 5;  // when the shipper ends

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

}  // namespace

bool is_http_url(const std::string& text, const std::string& scheme) {
  return begins_with(text, scheme + "http://") || begins_with(text, scheme + "https://");
}

std::string check_http_target(const std::string& text, const TargetOptions& options,
                              const std::string& scheme) {
  if (const std::string why = why_no_http(); !why.empty())
    throw Failure(options.option + ": " + text + ": " + why + ", or ship to a folder");
  std::string url = text.substr(scheme.size());
  const size_t host = url.find("://") + 3;
  while (url.size() > host && url.back() == '/') url.pop_back();
  if (host >= url.size() || url[host] == ':' || url[host] == '/') {
    throw Failure(options.option + ": '" + text + "' names no host; give " + scheme + "http://HOST:PORT");
  }
  if (url.find('@') != std::string::npos) {
    throw Failure(
        options.option +
        ": the URL has a name or a password in it, which others on this machine see; put them into a "
        "file and give --password-file");
  }
  if (url.find_first_of("?# \t\"") != std::string::npos) {
    throw Failure(options.option + ": '" + text + "' has ?, # or blanks in it; give " + scheme +
                  "http://HOST:PORT, with a path at most");
  }
  check_http_access(options.access);
  return url;
}

HttpAnswer post_to_target(Http& http, HttpRequest request, const TargetOptions& options, bool is_last) {
  request.seconds = is_last ? kLastSeconds : kSeconds;
  try {
    add_http_access(options.access, &request);
  } catch (const Failure& failure) {
    HttpAnswer none;
    none.error = failure.what();
    return none;
  }
  return http.post(request);
}

Sent without_answer(const HttpAnswer& answer, const std::string& name) {
  Sent sent;
  sent.may_be_there = answer.was_sent;
  sent.wait_seconds = answer.retry_after_seconds;
  if (answer.status == 0) sent.why = name + ": " + answer.error;
  return sent;
}

}  // namespace memprof::cli
