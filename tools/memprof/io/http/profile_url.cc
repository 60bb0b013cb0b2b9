// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/http/profile_url.h"

#include <cstdlib>

#include "memprof/console/failure.h"
#include "memprof/io/http/http.h"
#include "memprof/io/http/server_words.h"

namespace memprof::cli {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;
constexpr long kMaxSeconds = 300;

bool names_a_user(const std::string& url) {
  const std::string rest = url.substr(url.find("://") + 3);
  return rest.substr(0, rest.find_first_of("/?#")).find('@') != std::string::npos;
}

}  // namespace

bool is_profile_url(const std::string& text) {
  return text.rfind("http://", 0) == 0 || text.rfind("https://", 0) == 0;
}

void require_no_user(const std::string& url) {
  if (!names_a_user(url)) return;
  throw Failure(
      "the address of a profile has a name and a password in it, which reports would show; put them into "
      "~/.netrc");
}

std::string fetch_profile(const std::string& url, const HttpAccess& access) {
  require_no_user(url);
  if (const std::string why = why_no_http(); !why.empty()) {
    throw Failure(url + ": " + why + ", or fetch the file first");
  }
  HttpRequest request;
  request.url = url;
  request.seconds = kMaxSeconds;
  request.max_answer_bytes = kMaxBytes;
  if (const char* const file = std::getenv("CURL_CA_BUNDLE")) request.ca_file = file;
  add_http_access(access, &request);
  HttpAnswer answer = Http().get(request);
  if (answer.status == 0) throw Failure(url + ": " + answer.error);
  if (answer.status != 200) {
    throw Failure(url + ": the server answers with status " + std::to_string(answer.status) +
                  server_words(answer.body));
  }
  if (answer.body.empty()) throw Failure(url + ": the server's answer is empty");
  return std::move(answer.body);
}

}  // namespace memprof::cli
