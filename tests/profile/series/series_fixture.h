// SPDX-License-Identifier: Apache-2.0
// Looks at a process that holds more and more, for the tests of series.
#pragma once

#include <stdlib.h>
#include <time.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "profile/series/series_file.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile::series_fixture {

inline constexpr uint64_t kSecond = 1'000'000'000;
inline constexpr uint64_t kStart = 1'700'000'000 * kSecond;  // 2023-11-14 22:13:20 UTC

// Blocks of 1 KiB of `leaking`, and 100 of `steady`.
inline Profile profile_at(uint64_t time_unix_ns, uint64_t leaked) {
  report_fixture::Builder b;
  b.stack({b.at("leaking", "/src/leak.cc", 7), b.at("main")}, 1024, leaked + 1, leaked);
  b.stack({b.at("steady", "/src/steady.cc", 3), b.at("main")}, 1024, 100);
  b.profile().time_unix_ns = time_unix_ns;
  return b.profile();
}

inline SeriesLook look_of(const Profile& profile, uint64_t rss_bytes = 0) {
  SeriesLook look = figures_of(profile, 1);
  if (rss_bytes != 0) look.system["rss_bytes"] = rss_bytes;
  return look;
}

inline Series facts() {
  Series series;
  series.program = "server";
  series.pid = 4711;
  series.every_ns = 10 * kSecond;
  return series;
}

// Local time is UTC while there is one.
class InUtc {
 public:
  InUtc() {
    const char* zone = getenv("TZ");
    had_ = zone != nullptr;
    if (had_) before_ = zone;
    set("UTC");
  }
  ~InUtc() {
    if (had_) {
      set(before_.c_str());
    } else {
      unsetenv("TZ");
      tzset();
    }
  }
  InUtc(const InUtc&) = delete;
  InUtc& operator=(const InUtc&) = delete;

 private:
  static void set(const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  }

  bool had_ = false;
  std::string before_;
};

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "series-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace memprof::profile::series_fixture
