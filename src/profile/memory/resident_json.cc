// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/resident_json.h"

namespace memprof::profile {

nlohmann::ordered_json resident_numbers(const ResidentMemory& memory) {
  nlohmann::ordered_json json;
  for (const ResidentField& field : kResidentFields) {
    if (field.json == nullptr) continue;
    json[field.json] = number_or_null(field.is_known_of(memory), memory.*field.member);
  }
  return json;
}

}  // namespace memprof::profile
