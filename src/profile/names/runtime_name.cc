// SPDX-License-Identifier: Apache-2.0
#include "profile/names/runtime_name.h"

#include <fmt/format.h>

namespace memprof::profile {
namespace {

// Frames of profiles that name no runtime are of the first one.
constexpr size_t kFirst = 0;
constexpr char kFirstLanguage[] = "Python";

}  // namespace

std::string language_name(const Runtimes& runtimes, size_t index) {
  if (index == kFirst) return kFirstLanguage;
  return !runtimes[index].name.empty() ? runtimes[index].name : fmt::format("runtime {}", index + 1);
}

std::string runtime_module(const Runtimes& runtimes) {
  size_t found = kFirst;
  size_t count = 0;
  for (size_t i = 0; i < runtimes.size(); ++i) {
    if (runtimes[i].version == 0) continue;
    found = i;
    ++count;
  }
  // Files do not say which runtime a function is of.
  return count > 1 ? "[runtimes]" : "[" + language_name(runtimes, found) + "]";
}

}  // namespace memprof::profile
