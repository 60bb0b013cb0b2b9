// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/system/memory_stall.h"

#include <charconv>
#include <fstream>
#include <system_error>

namespace memprof::cli {
namespace {

// Of "avg10=1.25".
std::optional<double> percent_of(const std::string& word) {
  const std::string name = "avg10=";
  if (word.compare(0, name.size(), name) != 0) return std::nullopt;
  double percent = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data() + name.size(), end, percent);
  const bool is_share = percent >= 0 && percent <= 100;  // and a number
  return error == std::errc() && stop == end && is_share ? std::optional(percent) : std::nullopt;
}

}  // namespace

std::optional<MemoryStall> read_memory_stall(const std::string& path, bool is_of_machine) {
  std::ifstream file(path);
  std::string line;
  std::string word;
  MemoryStall stall;
  stall.is_of_machine = is_of_machine;
  if (!(file >> line >> word) || line != "some") return std::nullopt;
  const std::optional<double> some = percent_of(word);
  if (!some) return std::nullopt;
  stall.some = *some;
  std::getline(file, line);
  // Kernels before 5.13 have only the first line of some files.
  if (file >> line >> word && line == "full") stall.full = percent_of(word).value_or(0);
  return stall;
}

}  // namespace memprof::cli
