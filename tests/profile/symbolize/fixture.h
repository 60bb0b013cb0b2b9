// SPDX-License-Identifier: Apache-2.0
// The programs that CMake builds for these tests, and profiles of them.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile::fixture {

inline constexpr char kBuildId[] = "5a5a00112233445566778899aabbccddeeff0011";

inline std::string path(const std::string& name) {
  return std::string(MEMPROF_FIXTURES) + "/" + name;
}

// What a run of a fixture says about itself.
struct Running {
  Mapping mapping;
  std::map<std::string, uint64_t> functions;  // by the name that is to be found
};

inline Running run(const std::string& program, const std::string& build_id) {
  Running running;
  running.mapping.path = program;
  running.mapping.build_id = build_id;
  std::FILE* pipe = popen(("'" + program + "'").c_str(), "r");
  char line[512];
  while (pipe != nullptr && std::fgets(line, sizeof(line), pipe) != nullptr) {
    std::istringstream words(line);
    std::string kind;
    words >> kind >> std::hex;
    if (kind == "mapping") {
      words >> running.mapping.start >> running.mapping.limit >> running.mapping.file_offset;
    } else {
      uint64_t address = 0;
      std::string name;
      words >> address >> std::ws;
      std::getline(words, name);
      running.functions[name] = address;
    }
  }
  if (pipe != nullptr) pclose(pipe);
  return running;
}

// A profile with a location a few bytes into each function, in the order of running.functions.
inline Profile profile_of(const Running& running) {
  Profile profile;
  profile.from_memprof = true;
  profile.mappings = {running.mapping};
  for (const auto& [name, address] : running.functions) {
    Location location;
    location.address = address + 2;
    location.mapping = 0;
    profile.locations.push_back(location);
  }
  return profile;
}

// Names of all locations; "" where there is none.
inline std::vector<std::string> names(const Profile& profile) {
  std::vector<std::string> all;
  for (const Location& location : profile.locations) {
    all.push_back(location.lines.empty() ? "" : profile.functions[location.lines[0].function].name);
  }
  return all;
}

inline std::vector<std::string> expected_names(const Running& running) {
  std::vector<std::string> all;
  for (const auto& [name, address] : running.functions) all.push_back(name);
  return all;
}

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "memprof-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::string& file, const std::string& data) {
  std::ofstream(file, std::ios::binary) << data;
}

}  // namespace memprof::profile::fixture
