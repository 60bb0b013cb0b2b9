// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/otlp_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "memprof/io/http/server_words.h"
#include "memprof/ship/targets/http_target.h"
#include "profile/files/gzip.h"
#include "profile/model/error.h"
#include "profile/otlp/otlp_answer.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {
namespace {

constexpr char kScheme[] = "otlp+";
constexpr char kUsualPath[] = "/v1development/profiles";
constexpr size_t kMaxAnswerBytes = size_t{4} << 20;  // what OTLP recommends

// Of labels that have a name in OpenTelemetry's conventions; the others keep theirs.
struct Attribute {
  const char* key;
  bool is_number = false;
};
const std::map<std::string, Attribute> kAttributes = {
    {kServiceLabel, {"service.name"}},        {kHostLabel, {"host.name"}},
    {"program", {"process.executable.name"}}, {"pid", {"process.pid", true}},
    {"container_id", {"container.id"}},       {"service_version", {"service.version"}},
    {"k8s_pod_name", {"k8s.pod.name"}},       {"k8s_namespace_name", {"k8s.namespace.name"}},
    {"k8s_node_name", {"k8s.node.name"}},
};

class OtlpTarget : public ShipTarget {
 public:
  OtlpTarget(std::string url, TargetOptions options) : url_(std::move(url)), options_(std::move(options)) {}

  std::string name() const override { return kScheme + url_; }

  Sent send(const Look& look, bool is_last) override {
    profile::OtlpRequest otlp;
    try {
      otlp = otlp_request(look, options_.spool_id);
    } catch (const profile::Error& error) {
      Sent sent;
      sent.end = Sent::End::kRefused;
      sent.why = name() + ": a look cannot be read: " + error.what();
      return sent;
    }
    // Requests without a profile are not to be sent; there is nothing in them that could be lost.
    if (otlp.profiles == 0) {
      Sent sent;
      sent.end = Sent::End::kAccepted;
      return sent;
    }
    HttpRequest request;
    request.end_ns = &end_ns();
    request.url = url_;
    request.body = profile::gzip(otlp.bytes);
    request.headers = {"Content-Type: application/x-protobuf", "Content-Encoding: gzip"};
    request.max_answer_bytes = kMaxAnswerBytes;
    return otlp_answer(post_to_target(http_, std::move(request), options_, is_last), name(), otlp.profiles);
  }

 private:
  const std::string url_;
  const TargetOptions options_;
  Http http_;
};

std::string words_of(const std::string& body) {
  const std::string message = profile::read_otlp_status(body);
  return server_words(message.empty() ? body : message);
}

Sent taken(const HttpAnswer& answer, const std::string& name, size_t profiles, Sent sent) {
  const std::optional<profile::OtlpAnswer> said = profile::read_otlp_answer(answer.body);
  // Anything that serves pages says 200, too.
  if (!said) {
    sent.why =
        name +
        ": answers, but not as OTLP over HTTP has it; is it the address of another server, or the port of gRPC?";
    return sent;
  }
  sent.end = Sent::End::kAccepted;
  if (said->rejected_profiles == 0) {
    if (!said->message.empty()) sent.why = name + " says" + server_words(said->message);
    return sent;
  }
  sent.end = said->rejected_profiles >= profiles ? Sent::End::kRefused : Sent::End::kPartly;
  sent.rejected_profiles = std::min<uint64_t>(said->rejected_profiles, profiles);
  sent.why = fmt::format("{}: rejected {} of {} profiles{}", name, sent.rejected_profiles, profiles,
                         server_words(said->message));
  return sent;
}

}  // namespace

bool is_otlp_url(const std::string& text) {
  return is_http_url(text, kScheme);
}

std::unique_ptr<ShipTarget> make_otlp_target(const std::string& text, const TargetOptions& options) {
  std::string url = check_http_target(text, options, kScheme);
  if (url.find('/', url.find("://") + 3) == std::string::npos) url += kUsualPath;
  return std::make_unique<OtlpTarget>(url, options);
}

profile::OtlpRequest otlp_request(const Look& look, const std::string& spool_id) {
  profile::OtlpOptions options;
  for (const auto& [name, value] : look.labels) {
    const auto known = kAttributes.find(name);
    if (known == kAttributes.end()) {
      options.resource.push_back({name, value});
    } else {
      options.resource.push_back({known->second.key, value, known->second.is_number});
    }
  }
  options.scope_version = MEMPROF_VERSION;
  constexpr int kHexadecimal = 16;
  options.writer_id = std::strtoull(spool_id.c_str(), nullptr, kHexadecimal);
  options.sequence = look.sequence;
  return profile::write_otlp(profile::read_pprof(look.pprof, fmt::format("look {}", look.sequence)), options);
}

// What OTLP says is to be tried again, and what people can mend: a token, an address.
Sent otlp_answer(const HttpAnswer& answer, const std::string& name, size_t profiles) {
  Sent sent = without_answer(answer, name);
  const int status = answer.status;
  if (status == 0) return sent;
  if (status >= 200 && status < 300) return taken(answer, name, profiles, std::move(sent));
  sent.why = fmt::format("{}: status {}{}", name, status, words_of(answer.body));
  switch (status) {
    case 401:
    case 403:
      sent.why += "; it wants another token: --token-file or --password-file";
      break;
    case 404:
    case 405:
      sent.why +=
          "; OTLP's profiles are not taken there: a collector needs a pipeline of profiles "
          "(--feature-gates=service.profilesSupport), others may have another path";
      break;
    case 408:
    case 429:
    case 502:
    case 503:
    case 504:
      break;
    default:
      if (status >= 400) {
        sent.end = Sent::End::kRefused;
      } else {
        sent.why += "; redirections are not followed: give the address that it names";
      }
  }
  return sent;
}

}  // namespace memprof::cli
