// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/http/server_words.h"

#include <nlohmann/json.hpp>

#include "profile/text/markup/json_text.h"

namespace memprof::cli {

std::string server_words(const std::string& body) {
  constexpr size_t kMaxWordsBytes = 160;
  const nlohmann::json answer = profile::json_or_null(body);
  std::string text = answer.is_object() && answer.contains("message") && answer["message"].is_string()
                         ? answer["message"].get<std::string>()
                         : body.substr(0, body.find('\n'));
  if (text.size() > kMaxWordsBytes) text = text.substr(0, kMaxWordsBytes) + "...";
  return text.empty() ? "" : ": " + text;
}

}  // namespace memprof::cli
