// SPDX-License-Identifier: Apache-2.0
#include "profile/files/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace memprof::profile {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "memprof-atomic-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static std::string contents(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  size_t entries() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  // The message of the Error that writing "new" throws.
  static std::string error_of(const std::string& file, IfExists if_exists) {
    try {
      write_file_atomically(file, "new", if_exists);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(AtomicFileTest, is_there_only_when_it_is_whole) {
  AtomicFile file(path("out"), IfExists::kRefuse);
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(path("out")));
  file.commit();
  EXPECT_EQ(contents(path("out")), "one two");
  EXPECT_EQ(entries(), 1u);
  struct stat status{};
  ASSERT_EQ(::stat(path("out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(AtomicFileTest, leaves_nothing_behind_when_it_is_given_up) {
  {
    AtomicFile file(path("out"), IfExists::kRefuse);
    file.write("half");
    EXPECT_EQ(entries(), 1u);
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(AtomicFileTest, does_not_replace_unless_told) {
  write_file_atomically(path("out"), "old", IfExists::kRefuse);
  EXPECT_EQ(error_of(path("out"), IfExists::kRefuse),
            path("out") + ": file already exists; --force replaces it, or choose another name");
  EXPECT_EQ(contents(path("out")), "old");
  EXPECT_EQ(error_of(path("out"), IfExists::kReplace), "");
  EXPECT_EQ(contents(path("out")), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(AtomicFileTest, does_not_replace_what_came_while_it_was_written) {
  AtomicFile file(path("out"), IfExists::kRefuse);
  file.write("mine");
  std::ofstream(path("out")) << "theirs";
  EXPECT_THROW(file.commit(), Error);
  EXPECT_EQ(contents(path("out")), "theirs");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(AtomicFileTest, says_what_is_wrong_with_the_path) {
  EXPECT_EQ(error_of(path("no/out"), IfExists::kRefuse),
            path("no/out") + ": cannot write it: the folder " + path("no") + " does not exist");
  std::ofstream(path("file")) << "x";
  EXPECT_EQ(error_of(path("file/out"), IfExists::kRefuse),
            path("file/out") + ": cannot write it: " + path("file") + " is not a folder");
  EXPECT_EQ(error_of(folder_.string(), IfExists::kReplace),
            folder_.string() + ": cannot write it: it is a folder");
  EXPECT_EQ(error_of(path("new/"), IfExists::kReplace),
            path("new/") + ": cannot write it: it names a folder");
  EXPECT_NE(error_of("", IfExists::kReplace), "");
  EXPECT_NE(error_of(path(std::string(300, 'x')), IfExists::kReplace).find("too long"), std::string::npos);
}

TEST_F(AtomicFileTest, says_that_it_may_not_write_there) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root may write everywhere";
  }
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_NE(error_of(path("out"), IfExists::kRefuse).find("no permission to write in"), std::string::npos);
}

TEST_F(AtomicFileTest, says_that_the_disk_is_full) {
  EXPECT_NE(error_of("/dev/full", IfExists::kReplace).find("/dev/full: cannot write it: the disk is full"),
            std::string::npos);
}

TEST_F(AtomicFileTest, a_device_stays_a_device) {
  EXPECT_EQ(error_of("/dev/null", IfExists::kReplace), "");
  EXPECT_EQ(error_of("/dev/null", IfExists::kRefuse), "");
  struct stat status{};
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(AtomicFileTest, follows_a_symbolic_link) {
  fs::create_directory(folder_ / "real");
  std::ofstream(path("real/out")) << "old";
  fs::create_symlink(path("real/out"), path("link"));
  EXPECT_EQ(error_of(path("link"), IfExists::kReplace), "");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("real/out")), "new");
  fs::create_symlink(path("nowhere"), path("dangling"));
  EXPECT_NE(error_of(path("dangling"), IfExists::kReplace).find("symbolic link to nothing"),
            std::string::npos);
}

TEST_F(AtomicFileTest, a_long_name_leaves_room_for_the_temporary_one) {
  const std::string name(255, 'n');
  EXPECT_EQ(error_of(path(name), IfExists::kRefuse), "");
  EXPECT_EQ(contents(path(name)), "new");
}

}  // namespace
}  // namespace memprof::profile
