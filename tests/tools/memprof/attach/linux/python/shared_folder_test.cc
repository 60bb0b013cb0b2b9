// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/python/shared_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using testing_tools::fixture;
using testing_tools::read_file;
using testing_tools::write_file;

const auto kSelf = static_cast<uint64_t>(getpid());

TEST(SharedFolder, HasWhatIsPutIntoItWhileItLives) {
  std::string path;
  {
    SharedFolder folder(kSelf, "process", {"left"});
    path = folder.path();
    folder.put("a.py", "text");
    folder.put_copy("b.so", fixture("program"));
    folder.give();
    struct stat facts{};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700u);
    EXPECT_EQ(facts.st_uid, geteuid());
    EXPECT_EQ(read_file(path + "/a.py"), "text");
    EXPECT_EQ(read_file(path + "/b.so"), read_file(fixture("program")));
    EXPECT_EQ(folder.read("left"), "");
    write_file(path + "/left", "said");
    EXPECT_EQ(folder.read("left"), "said");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SharedFolder, NoLinkIsFollowedAndNoPipeWaitedFor) {
  SharedFolder folder(kSelf, "process", {"link", "pipe", "folder"});
  std::filesystem::create_symlink("/etc/passwd", folder.path() + "/link");
  EXPECT_EQ(folder.read("link"), "");
  EXPECT_THROW(folder.put("link", "text"), Failure);
  ASSERT_EQ(mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(folder.read("pipe"), "");
}

TEST(SharedFolder, SaysWhatCannotBeCopied) {
  SharedFolder folder(kSelf, "process", {});
  EXPECT_THROW(folder.put_copy("x", "/nowhere/library.so"), Failure);
}

TEST(SharedFolder, OfAProcessThatIsNotThereThereIsNone) {
  EXPECT_THROW(SharedFolder(uint64_t{1} << 31, "process", {}), Failure);
}

}  // namespace
}  // namespace memprof::cli
