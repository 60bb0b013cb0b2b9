// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/json_text.h"

#include <nlohmann/json.hpp>

namespace memprof::profile {

namespace {

template <class Json>
std::string to_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json_text(const std::string& value) {
  return json_to_text(nlohmann::json(value));
}

std::string json_to_text(const nlohmann::json& value, int indent) {
  return to_text(value, indent);
}

std::string json_to_text(const nlohmann::ordered_json& value, int indent) {
  return to_text(value, indent);
}

nlohmann::json json_from_text(std::string_view json) {
  return nlohmann::json::parse(json.begin(), json.end());
}

nlohmann::json json_or_null(std::string_view json) {
  nlohmann::json value = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
  return value.is_discarded() ? nlohmann::json() : value;
}

}  // namespace memprof::profile
