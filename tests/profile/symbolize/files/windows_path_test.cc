// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/files/windows_path.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace memprof::profile {
namespace {

namespace fs = std::filesystem;

class WindowsPath : public testing::Test {
 protected:
  WindowsPath() : folder_(fs::temp_directory_path() / ("windows_path-" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "drive/Program Files/App");
    fs::create_directories(folder_ / "dosdevices");
    fs::create_directory_symlink("../drive", folder_ / "dosdevices/c:");
    std::ofstream(folder_ / "drive/Program Files/App/Tool.exe") << "x";
  }
  ~WindowsPath() override { fs::remove_all(folder_); }

  std::string find(const std::string& path) const {
    return find_windows_file(path, {(folder_ / "dosdevices").string()});
  }

  fs::path folder_;
};

TEST_F(WindowsPath, IsToldFromOthers) {
  EXPECT_TRUE(is_windows_path("C:\\x.exe"));
  EXPECT_TRUE(is_windows_path("z:/x.exe"));
  EXPECT_FALSE(is_windows_path("/c:/x"));
  EXPECT_FALSE(is_windows_path("1:/x"));
  EXPECT_FALSE(is_windows_path("C:"));
  EXPECT_FALSE(is_windows_path(""));
}

TEST_F(WindowsPath, IsFoundWhateverTheCaseOfItsLetters) {
  const std::string file = (folder_ / "dosdevices/c:/Program Files/App/Tool.exe").string();
  EXPECT_EQ(find("C:/Program Files/App/Tool.exe"), file);
  EXPECT_EQ(find("c:\\PROGRAM files\\app\\tool.EXE"), file);
  EXPECT_EQ(find("C:\\Program Files\\nothing.exe"), "");
  EXPECT_EQ(find("D:\\Program Files\\App\\Tool.exe"), "");
}

TEST_F(WindowsPath, DriveZIsTheRoot) {
  EXPECT_EQ(find("Z:" + folder_.string() + "/drive"), folder_.string() + "/drive");
}

}  // namespace
}  // namespace memprof::profile
