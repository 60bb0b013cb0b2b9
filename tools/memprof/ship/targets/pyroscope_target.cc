// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/pyroscope_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "memprof/console/failure.h"
#include "memprof/io/http/server_words.h"
#include "memprof/ship/targets/secret_file.h"
#include "profile/files/base64.h"
#include "profile/text/markup/json_text.h"

namespace memprof::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kPath[] = "/push.v1.PusherService/Push";
constexpr long kSeconds = 30;
constexpr long kLastSeconds = 5;  // when the shipper ends

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

class PyroscopeTarget : public ShipTarget {
 public:
  PyroscopeTarget(std::string url, TargetOptions options)
      : url_(std::move(url)), options_(std::move(options)) {}

  std::string name() const override { return url_; }

  Sent send(const Look& look, bool is_last) override {
    HttpRequest request;
    request.url = url_ + kPath;
    request.body = pyroscope_body(look, options_.spool_id);
    request.headers = {"Content-Type: application/json"};
    request.ca_file = options_.ca_file;
    request.seconds = is_last ? kLastSeconds : kSeconds;
    try {
      // Each time: tokens change.
      if (!options_.token_file.empty()) {
        request.headers.push_back("Authorization: Bearer " +
                                  read_secret("--token-file", options_.token_file));
      }
      if (!options_.password_file.empty()) {
        request.user_password = read_secret("--password-file", options_.password_file);
      }
    } catch (const Failure& failure) {
      Sent sent;
      sent.why = failure.what();
      return sent;
    }
    return pyroscope_answer(http_.post(request), url_);
  }

 private:
  const std::string url_;
  const TargetOptions options_;
  Http http_;
};

}  // namespace

bool is_pyroscope_url(const std::string& text) {
  return begins_with(text, "http://") || begins_with(text, "https://");
}

std::unique_ptr<ShipTarget> make_pyroscope_target(const std::string& text, const TargetOptions& options) {
  if (const std::string why = why_no_http(); !why.empty())
    throw Failure("--to: " + text + ": " + why + ", or ship to a folder");
  std::string url = text;
  const size_t host = url.find("://") + 3;
  while (url.size() > host && url.back() == '/') url.pop_back();
  if (host >= url.size() || url[host] == ':' || url[host] == '/') {
    throw Failure("--to: '" + text + "' names no host; give http://HOST:PORT");
  }
  if (url.find('@') != std::string::npos) {
    throw Failure(
        "--to: the URL has a name or a password in it, which others on this machine see; put them into a "
        "file and give --password-file");
  }
  if (url.find_first_of("?# \t\"") != std::string::npos) {
    throw Failure("--to: '" + text +
                  "' has ?, # or blanks in it; give http://HOST:PORT, with a path at most");
  }
  if (!options.token_file.empty()) read_secret("--token-file", options.token_file);
  if (!options.password_file.empty() &&
      read_secret("--password-file", options.password_file).find(':') == std::string::npos) {
    throw Failure("--password-file: " + options.password_file + ": has no NAME:PASSWORD in its first line");
  }
  if (!options.ca_file.empty() &&
      read_text_file("--ca-file", options.ca_file).find("-----BEGIN ") == std::string::npos) {
    throw Failure("--ca-file: " + options.ca_file + ": has no certificate in PEM form");
  }
  return std::make_unique<PyroscopeTarget>(url, options);
}

std::string pyroscope_body(const Look& look, const std::string& spool_id) {
  Json labels =
      Json::array({{{"name", "__name__"}, {"value", "memory"}}, {{"name", "__delta__"}, {"value", "false"}}});
  for (const auto& [name, value] : look.labels) labels.push_back({{"name", name}, {"value", value}});
  const Json sample = {{"rawProfile", profile::base64(look.pprof)},
                       {"ID", fmt::format("{}-{}", spool_id, look.sequence)}};
  const Json series = {{"labels", labels}, {"samples", Json::array({sample})}};
  return profile::json_to_text(Json({{"series", Json::array({series})}}));
}

Sent pyroscope_answer(const HttpAnswer& answer, const std::string& name) {
  Sent sent;
  sent.may_be_there = answer.was_sent;
  const int status = answer.status;
  if (status == 0) {
    sent.why = name + ": " + answer.error;
    return sent;
  }
  sent.wait_seconds = answer.retry_after_seconds;
  const std::string line = fmt::format("{}: status {}{}", name, status, server_words(answer.body));
  if (status == 200) {
    // Anything that serves pages says 200, too.
    if (profile::json_or_null(answer.body).is_object()) {
      sent.end = Sent::End::kAccepted;
      return sent;
    }
    sent.why = name + ": answers, but not as Pyroscope does; is it the address of another server?";
    return sent;
  }
  sent.why = line;
  if (status == 401 || status == 403) {
    sent.why += "; it wants another token: --token-file or --password-file";
  } else if (status == 404 || status == 405 || (status >= 300 && status < 400)) {
    sent.why +=
        "; Pyroscope's Push API is not there: is it the address of another server, or has it a path in front?";
  } else if (status == 400 || status == 413 || status == 422) {
    sent.end = Sent::End::kRefused;
  }
  return sent;
}

}  // namespace memprof::cli
