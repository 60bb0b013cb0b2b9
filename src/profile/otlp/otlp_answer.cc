// SPDX-License-Identifier: Apache-2.0
#include "profile/otlp/otlp_answer.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "profile/otlp/otlp_fields.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

OtlpAnswer partial_success(pbf_reader message) {
  namespace field = otlp::partial_success_field;
  OtlpAnswer answer;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case protozero::tag_and_type(field::kRejectedProfiles, pbf_wire_type::varint):
        answer.rejected_profiles = static_cast<uint64_t>(std::max<int64_t>(0, message.get_int64()));
        break;
      case protozero::tag_and_type(field::kErrorMessage, pbf_wire_type::length_delimited):
        answer.message = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  return answer;
}

// 64-bit integers are texts in JSON of protobuf; numbers are taken, too.
uint64_t count_of(const nlohmann::json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (!value.is_string()) return 0;
  const auto& text = value.get_ref<const std::string&>();
  uint64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

OtlpAnswer answer_of(const nlohmann::json& body) {
  OtlpAnswer answer;
  const auto partial = body.find("partialSuccess");
  if (partial == body.end() || !partial->is_object()) return answer;
  if (const auto rejected = partial->find("rejectedProfiles"); rejected != partial->end()) {
    answer.rejected_profiles = count_of(*rejected);
  }
  const auto message = partial->find("errorMessage");
  if (message != partial->end() && message->is_string()) answer.message = message->get<std::string>();
  return answer;
}

}  // namespace

std::optional<OtlpAnswer> read_otlp_answer(std::string_view body) {
  // No message begins like this: '{' would be the beginning of a group.
  if (!body.empty() && body.front() == '{') {
    const nlohmann::json json = json_or_null(body);
    if (!json.is_object()) return std::nullopt;
    return answer_of(json);
  }
  OtlpAnswer answer;
  try {
    pbf_reader message(body.data(), body.size());
    while (message.next()) {
      if (message.tag_and_type() ==
          protozero::tag_and_type(otlp::response_field::kPartialSuccess, pbf_wire_type::length_delimited)) {
        answer = partial_success(message.get_message());
      } else {
        message.skip();
      }
    }
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return answer;
}

std::string read_otlp_status(std::string_view body) {
  std::string text;
  try {
    pbf_reader message(body.data(), body.size());
    while (message.next()) {
      if (message.tag_and_type() ==
          protozero::tag_and_type(otlp::status_field::kMessage, pbf_wire_type::length_delimited)) {
        text = message.get_string();
      } else {
        message.skip();
      }
    }
  } catch (const protozero::exception&) {
    return "";
  }
  return text;
}

}  // namespace memprof::profile
