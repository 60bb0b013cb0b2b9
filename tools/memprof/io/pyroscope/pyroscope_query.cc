// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/pyroscope/pyroscope_query.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "memprof/console/failure.h"
#include "memprof/io/http/profile_url.h"
#include "memprof/io/pyroscope/query_time.h"
#include "profile/text/markup/percent_text.h"

namespace memprof::cli {
namespace {

constexpr char kScheme[] = "pyroscope+";
constexpr char kRenderPath[] = "/pyroscope/render";
constexpr int64_t kUsualRangeMs = int64_t{3600} * 1000;

using Parameters = std::vector<std::pair<std::string, std::string>>;

struct Address {
  std::string server;  // scheme, host and port
  std::string path;    // decoded; "" or from "/" on
  Parameters parameters;
};

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string parameter_text(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  return profile::without_percents(text);
}

Address address_of(const std::string& url) {
  Address address;
  const std::string whole = url.substr(0, url.find('#'));
  const size_t question = std::min(whole.find('?'), whole.size());
  const size_t slash = std::min(whole.find('/', whole.find("://") + 3), question);
  address.server = whole.substr(0, slash);
  address.path = profile::without_percents(whole.substr(slash, question - slash));
  size_t at = question + 1;
  while (at < whole.size()) {
    const size_t end = std::min(whole.find('&', at), whole.size());
    const std::string part = whole.substr(at, end - at);
    const size_t equal = std::min(part.find('='), part.size());
    if (!part.empty()) {
      address.parameters.emplace_back(
          parameter_text(part.substr(0, equal)),
          equal < part.size() ? parameter_text(part.substr(equal + 1)) : std::string());
    }
    at = end + 1;
  }
  return address;
}

const std::string* value_of(const Parameters& parameters, const std::string& name) {
  for (const auto& [own, value] : parameters) {
    if (own == name) return &value;
  }
  return nullptr;
}

// "memory:inuse_space:bytes:space:bytes{...}", or one of the two.
bool is_query(const std::string& text) {
  if (text.find('{') != std::string::npos) return true;
  return std::count(text.begin(), text.end(), ':') == 4;
}

bool is_label_name(const std::string& text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
  });
}

std::string matcher(const std::string& name, const std::string& value) {
  std::string quoted;
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return name + "=\"" + quoted + '"';
}

void take_short(const std::string& text, const Address& address, PyroscopeQuery* query) {
  const size_t slash = address.path.rfind('/');
  const std::string service = slash == std::string::npos ? std::string() : address.path.substr(slash + 1);
  query->server =
      address.server + (slash == std::string::npos ? std::string() : address.path.substr(0, slash));
  std::string matchers = service.empty() ? std::string() : matcher("service_name", service);
  for (const auto& [name, value] : address.parameters) {
    if (name == "from" || name == "until") continue;
    if (name == "name") {
      query->name = value;
      continue;
    }
    if (name == "query") {
      throw Failure(text + ": query= says the service already; leave out '" + std::string(kScheme) +
                    "', or give labels as LABEL=VALUE");
    }
    if (!is_label_name(name)) {
      throw Failure(text + ": '" + name + "' is not the name of a label; give LABEL=VALUE, from= or until=");
    }
    matchers += (matchers.empty() ? "" : ",") + matcher(name, value);
  }
  query->selector = "{" + matchers + "}";
}

void take_link(const Address& address, PyroscopeQuery* query) {
  const std::string& path = address.path;
  const size_t end = ends_with(path, kRenderPath) ? path.size() - std::string(kRenderPath).size()
                                                  : std::min(path.rfind('/'), path.size());
  query->server = address.server + path.substr(0, end);
  const std::string& asked = *value_of(address.parameters, "query");
  const size_t brace = std::min(asked.find('{'), asked.size());
  const std::string type = asked.substr(0, brace);
  query->name = type.substr(0, type.find(':'));
  query->selector = brace < asked.size() ? asked.substr(brace) : "{}";
}

int64_t time_of(const std::string& text, const Address& address, const std::string& name, int64_t now_ms,
                int64_t usual_ms) {
  const std::string* const given = value_of(address.parameters, name);
  if (given == nullptr) return usual_ms;
  const auto time_ms = query_time_ms(*given, now_ms);
  if (!time_ms) {
    throw Failure(text + ": " + name + ": '" + *given +
                  "' is not a time; give one like now-1h, 2026-05-01T14:05 or 1777644300 (seconds)");
  }
  return *time_ms;
}

}  // namespace

bool is_pyroscope_query(const std::string& text) {
  const bool is_short = begins_with(text, kScheme);
  if (!is_profile_url(is_short ? text.substr(sizeof(kScheme) - 1) : text)) return false;
  if (is_short) return true;
  const Parameters parameters = address_of(text).parameters;
  const std::string* const query = value_of(parameters, "query");
  return query != nullptr && !query->empty() && is_query(*query);
}

PyroscopeQuery parse_pyroscope_query(const std::string& text, int64_t now_ms) {
  const bool is_short = begins_with(text, kScheme);
  const std::string url = is_short ? text.substr(sizeof(kScheme) - 1) : text;
  require_no_user(url);
  const Address address = address_of(url);
  if (const std::string host = address.server.substr(address.server.find("://") + 3);
      host.empty() || host[0] == ':') {
    throw Failure(text + ": names no host; give " + kScheme + "http://HOST:PORT/SERVICE");
  }
  PyroscopeQuery query;
  if (is_short) {
    take_short(text, address, &query);
  } else {
    take_link(address, &query);
  }
  query.end_ms = time_of(text, address, "until", now_ms, now_ms);
  query.start_ms = time_of(text, address, "from", now_ms, query.end_ms - kUsualRangeMs);
  if (query.start_ms >= query.end_ms) {
    throw Failure(text + ": the range ends before it begins: until= has to be later than from=");
  }
  const int64_t units = (query.end_ms - query.start_ms + kRangeUnitMs - 1) / kRangeUnitMs;
  query.start_ms = query.end_ms - units * kRangeUnitMs;
  return query;
}

}  // namespace memprof::cli
