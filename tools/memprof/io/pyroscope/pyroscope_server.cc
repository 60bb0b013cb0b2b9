// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/pyroscope/pyroscope_server.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "memprof/console/failure.h"
#include "memprof/io/http/server_words.h"
#include "profile/text/markup/json_text.h"

namespace memprof::cli {
namespace {

constexpr char kService[] = "/querier.v1.QuerierService/";
constexpr size_t kMaxBytes = size_t{1} << 30;
constexpr long kMaxSeconds = 300;
constexpr char kElse[] = "; is it the address of another server, or has it a path in front?";

// SelectMergeProfileRequest
enum : protozero::pbf_tag_type { kType = 1, kSelector = 2, kStart = 3, kEnd = 4 };

}  // namespace

PyroscopeServer::PyroscopeServer(std::string address, PyroscopeQuery query, HttpAccess access)
    : address_(std::move(address)), query_(std::move(query)), access_(std::move(access)) {
  if (const std::string why = why_no_http(); !why.empty()) throw Failure(address_ + ": " + why);
}

HttpAnswer PyroscopeServer::post(const std::string& method, const std::string& body,
                                 const char* content_type) {
  HttpRequest request;
  request.url = query_.server + kService + method;
  request.body = body;
  request.headers = {std::string("Content-Type: ") + content_type, "Connect-Protocol-Version: 1"};
  request.reads_netrc = true;
  request.seconds = kMaxSeconds;
  request.max_answer_bytes = kMaxBytes;
  request.must_be_whole = true;
  if (const char* const file = std::getenv("CURL_CA_BUNDLE")) request.ca_file = file;
  add_http_access(access_, &request);
  HttpAnswer answer = http_.post(request);
  const int status = answer.status;
  if (status == 0) throw Failure(address_ + ": " + answer.error);
  const std::string said =
      address_ + ": the server answers with status " + std::to_string(status) + server_words(answer.body);
  if (status == 401 || status == 403) {
    throw Failure(said + "; it wants another token: --token-file, --password-file or ~/.netrc");
  }
  if (status == 404 || status == 405 || (status >= 300 && status < 400)) {
    throw Failure(said + "; Pyroscope's query API is not there" + kElse);
  }
  if (status != 200) throw Failure(said);
  return answer;
}

nlohmann::json PyroscopeServer::ask(const std::string& method, nlohmann::json question) {
  question.emplace("start", query_.start_ms);
  question.emplace("end", query_.end_ms);
  nlohmann::json answer =
      profile::json_or_null(post(method, profile::json_to_text(question), "application/json").body);
  if (!answer.is_object()) {
    throw Failure(address_ + ": the server answers, but not as Pyroscope does" + kElse);
  }
  return answer;
}

std::string PyroscopeServer::profile_of(const std::string& type) {
  std::string body;
  protozero::pbf_writer writer(body);
  writer.add_string(kType, type);
  writer.add_string(kSelector, query_.selector);
  writer.add_int64(kStart, query_.start_ms);
  writer.add_int64(kEnd, query_.end_ms);
  return post("SelectMergeProfile", body, "application/proto").body;
}

}  // namespace memprof::cli
