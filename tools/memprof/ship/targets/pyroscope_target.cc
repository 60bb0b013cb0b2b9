// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/pyroscope_target.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "memprof/io/http/server_words.h"
#include "memprof/ship/targets/http_target.h"
#include "profile/files/base64.h"
#include "profile/text/markup/json_text.h"

namespace memprof::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kPath[] = "/push.v1.PusherService/Push";

class PyroscopeTarget : public ShipTarget {
 public:
  PyroscopeTarget(std::string url, TargetOptions options)
      : url_(std::move(url)), options_(std::move(options)) {}

  std::string name() const override { return url_; }

  Sent send(const Look& look, bool is_last) override {
    HttpRequest request;
    request.end_ns = &end_ns();
    request.url = url_ + kPath;
    request.body = pyroscope_body(look, options_.spool_id);
    request.headers = {"Content-Type: application/json"};
    return pyroscope_answer(post_to_target(http_, std::move(request), options_, is_last), url_);
  }

 private:
  const std::string url_;
  const TargetOptions options_;
  Http http_;
};

}  // namespace

bool is_pyroscope_url(const std::string& text) {
  return is_http_url(text);
}

std::unique_ptr<ShipTarget> make_pyroscope_target(const std::string& text, const TargetOptions& options) {
  return std::make_unique<PyroscopeTarget>(check_http_target(text, options), options);
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
  Sent sent = without_answer(answer, name);
  const int status = answer.status;
  if (status == 0) return sent;
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
