// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/http/http.h"

#include "memprof/io/http/secret_file.h"

#ifdef MEMPROF_HAS_CURL
#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <mutex>

namespace memprof::cli {
namespace {

constexpr long kMaxRedirects = 5;

void start_once() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

struct Body {
  std::string* text;
  size_t max_bytes;
  bool must_be_whole;
  bool is_cut = false;
};

size_t keep(const char* data, size_t size, size_t count, void* to) {
  auto* const body = static_cast<Body*>(to);
  const size_t bytes = size * count;
  const size_t room = body->max_bytes - std::min(body->max_bytes, body->text->size());
  body->text->append(data, std::min(bytes, room));
  body->is_cut = body->is_cut || bytes > room;
  return body->is_cut && body->must_be_whole ? 0 : bytes;  // less than `bytes` ends the request
}

// Called by libcurl every second or more often; not 0 ends the request.
int is_over(void* end_ns, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return now_ns >= static_cast<const std::atomic<int64_t>*>(end_ns)->load() ? 1 : 0;
}

// Before the request went out nothing can have arrived.
bool is_before_sending(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
         code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_SSL_CONNECT_ERROR ||
         code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
}

}  // namespace

struct Http::Handle {
  Handle() : curl((start_once(), curl_easy_init())) {}
  ~Handle() { curl_easy_cleanup(curl); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  CURL* const curl;
};

Http::Http() : handle_(std::make_unique<Handle>()) {}

Http::~Http() = default;

HttpAnswer Http::send(const HttpRequest& request, bool is_get) {
  HttpAnswer answer;
  Body body{&answer.body, request.max_answer_bytes, is_get || request.must_be_whole};
  CURL* const curl = handle_->curl;
  if (curl == nullptr) {
    answer.error = "libcurl cannot start";
    return answer;
  }
  curl_easy_reset(curl);  // keeps connections
  char text[CURL_ERROR_SIZE] = "";
  curl_slist* headers = nullptr;
  for (const std::string& header : request.headers) headers = curl_slist_append(headers, header.c_str());
  headers = curl_slist_append(headers, "Expect:");
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, text);
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  if (is_get) {
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMaxRedirects);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  } else {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  if (is_get || request.reads_netrc) {
    curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  }
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, request.seconds);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, std::min(request.seconds, 10L));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "memprof/" MEMPROF_VERSION);
  if (!request.user_password.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    curl_easy_setopt(curl, CURLOPT_USERPWD, request.user_password.c_str());
  }
  if (request.end_ns != nullptr) {
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_over);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, request.end_ns);
  }
  if (!request.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, request.ca_file.c_str());
  const CURLcode code = curl_easy_perform(curl);
  curl_slist_free_all(headers);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  if (code != CURLE_OK) {
    answer.error = *text != '\0' ? text : curl_easy_strerror(code);
    if (code == CURLE_ABORTED_BY_CALLBACK) answer.error = "no answer until the end";
    if (body.is_cut && body.must_be_whole) {
      answer.error = "the answer is larger than " + std::to_string(body.max_bytes) + " bytes";
    }
    answer.was_sent = !is_before_sending(code);
    answer.body.clear();
    return answer;
  }
  answer.was_sent = true;
  long status = 0;
  curl_off_t retry_after = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
  answer.status = static_cast<int>(status);
  if (retry_after > 0) answer.retry_after_seconds = static_cast<double>(retry_after);
  return answer;
}

std::string why_no_http() {
  return "";
}

}  // namespace memprof::cli

#else

namespace memprof::cli {

struct Http::Handle {};

Http::Http() = default;

Http::~Http() = default;

HttpAnswer Http::send(const HttpRequest& /*request*/, bool /*is_get*/) {
  HttpAnswer answer;
  answer.error = why_no_http();
  return answer;
}

std::string why_no_http() {
  return "this memprof has no libcurl (the command as one static file never does); build it with "
         "libcurl4-openssl-dev";
}

}  // namespace memprof::cli

#endif

namespace memprof::cli {

void add_http_access(const HttpAccess& access, HttpRequest* request) {
  if (!access.ca_file.empty()) request->ca_file = access.ca_file;
  if (!access.token_file.empty()) {
    request->headers.push_back("Authorization: Bearer " + read_secret("--token-file", access.token_file));
  }
  if (!access.password_file.empty())
    request->user_password = read_secret("--password-file", access.password_file);
}

HttpAnswer Http::post(const HttpRequest& request) {
  return send(request, false);
}

HttpAnswer Http::get(const HttpRequest& request) {
  return send(request, true);
}

}  // namespace memprof::cli
