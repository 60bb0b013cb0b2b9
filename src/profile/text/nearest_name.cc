// SPDX-License-Identifier: Apache-2.0
#include "profile/text/nearest_name.h"

#include <algorithm>
#include <cstddef>

namespace memprof::profile {

std::string nearest_name(const std::string& text, const std::vector<std::string>& names) {
  std::string nearest;
  // A third of the letters may differ.
  size_t min = text.size() / 3 + 2;
  for (const std::string& name : names) {
    std::vector<size_t> row(name.size() + 1);
    for (size_t i = 0; i < row.size(); ++i) row[i] = i;
    for (size_t i = 0; i < text.size(); ++i) {
      size_t diagonal = row[0]++;
      for (size_t j = 0; j < name.size(); ++j) {
        const size_t replaced = diagonal + (text[i] == name[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
      }
    }
    if (row.back() < min) {
      min = row.back();
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace memprof::profile
