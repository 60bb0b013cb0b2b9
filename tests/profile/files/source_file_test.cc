// SPDX-License-Identifier: Apache-2.0
// Who reads which file: the rule of docs/security.md.  Each case runs in a child, as root's where this is root, and as a
// user without rights where it can become one.
#include "profile/files/source_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace memprof::profile {
namespace {

constexpr uid_t kUser = 64321;
constexpr uid_t kOther = 64322;
constexpr size_t kMaxBytes = 1000;

// Runs `act` as another user; true: it returned true.
template <typename Act>
bool as_user(uid_t user, const Act& act) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() != user && (setgid(user) != 0 || setuid(user) != 0)) _exit(3);
    _exit(act() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class SourceFileTest : public ::testing::Test {
 protected:
  SourceFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "source_file-XXXXXX").string();
    folder_ = std::filesystem::canonical(mkdtemp(name.data())).string();
    chmod(folder_.c_str(), 0755);
  }
  ~SourceFileTest() override { std::filesystem::remove_all(folder_); }

  // Of this test's user, or of `owner` where this is root.
  std::string file(const std::string& name, mode_t mode = 0644, uid_t owner = geteuid()) const {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "int x;\n";
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    if (owner != geteuid()) {
      EXPECT_EQ(chown(path.c_str(), owner, owner), 0);
    }
    return path;
  }

  static bool shows(const std::string& path, const SourceRule& rule) {
    return read_source_file(path, rule, kMaxBytes).has_value();
  }
  static bool shows_to(uid_t user, const std::string& path, const SourceRule& rule) {
    return as_user(user, [&] { return shows(path, rule); });
  }
  static bool is_root() { return geteuid() == 0; }

  std::string folder_;
  const SourceRule own_{true, {}};
  const SourceRule foreign_{false, {}};
};

TEST_F(SourceFileTest, NamesOfSources) {
  for (const char* name : {"/a.c", "/a/b.CC", "/x.y.py", "/h.h++", "/lib.rs", "/m.TSX", "/a.S"}) {
    EXPECT_TRUE(is_source_name(name)) << name;
  }
  for (const char* name : {"/etc/shadow", "/etc/passwd", "/id_rsa", "/x.pem", "/x.key", "/a.c/x", "/a.c/",
                           "/.c.txt", "/x.json", "/x.env", "/x.toml", "/x.c~", "", ".", "/x."}) {
    EXPECT_FALSE(is_source_name(name)) << name;
  }
}

TEST_F(SourceFileTest, TheTextAndItsTime) {
  const auto source = read_source_file(file("x.c"), own_, kMaxBytes);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->text, "int x;\n");
  EXPECT_GT(source->changed_unix_ns, uint64_t{1'600'000'000} * 1'000'000'000);
  EXPECT_FALSE(read_source_file(file("x.c"), own_, 3)) << "larger than is allowed";
}

TEST_F(SourceFileTest, NoFileThatIsNoSource) {
  EXPECT_FALSE(shows(file("private.txt"), own_));
  EXPECT_FALSE(shows(file("id_rsa"), own_));
  const SourceRule chosen{true, {folder_}};
  EXPECT_FALSE(shows(file("key.pem"), chosen)) << "also below a chosen folder";
  EXPECT_FALSE(shows(folder_, own_));
  EXPECT_FALSE(shows("x.c", own_)) << "not a whole path";
  const std::string pipe = folder_ + "/pipe.c";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0644), 0);
  EXPECT_FALSE(shows(pipe, own_));
}

TEST_F(SourceFileTest, ALinkIsWhatItLeadsTo) {
  const std::string link = folder_ + "/link.c";
  ASSERT_EQ(symlink(file("key.pem").c_str(), link.c_str()), 0);
  EXPECT_FALSE(shows(link, own_)) << "a name does not make a key a source";
  const std::string outside = file("outside/secret.c");
  const std::string inside = folder_ + "/inside";
  std::filesystem::create_directory(inside);
  ASSERT_EQ(symlink(outside.c_str(), (inside + "/link.c").c_str()), 0);
  const SourceRule chosen{false, {inside}};
  EXPECT_FALSE(shows(inside + "/link.c", chosen));
  EXPECT_FALSE(shows(inside + "/../outside/secret.c", chosen));
}

TEST_F(SourceFileTest, OfASomebodyElsesProfileOnlyWhatIsBelowTheChosenFolders) {
  const std::string path = file("src/x.c");
  EXPECT_TRUE(shows(path, own_));
  EXPECT_FALSE(shows(path, foreign_));
  EXPECT_TRUE(shows(path, {false, {folder_ + "/src"}}));
  EXPECT_TRUE(shows(path, {false, {"/"}}));
  EXPECT_FALSE(shows(path, {false, {folder_ + "/sr"}})) << "no folder, but the beginning of a name";
  EXPECT_FALSE(shows(path, {false, {folder_ + "/other"}}));
}

TEST_F(SourceFileTest, RootIsShownWhatEverybodyCanRead) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(shows(file("public.c"), own_));
  EXPECT_FALSE(shows(file("private.c", 0600), own_));
  const std::string in_private = file("closed/x.c");
  EXPECT_TRUE(shows(in_private, own_));
  chmod((folder_ + "/closed").c_str(), 0700);
  EXPECT_FALSE(shows(in_private, own_)) << "its folder lets nobody else through";
  EXPECT_FALSE(shows(file("users.c", 0644, kUser), own_)) << "another user's";
  EXPECT_TRUE(shows(file("private.c", 0600), {true, {folder_}}));
}

TEST_F(SourceFileTest, AUserIsShownOwnAndRootsFiles) {
  if (!is_root()) GTEST_SKIP() << "needs root, to become users";
  EXPECT_TRUE(shows_to(kUser, file("own.c", 0600, kUser), own_));
  EXPECT_TRUE(shows_to(kUser, file("roots.c"), own_));
  EXPECT_FALSE(shows_to(kUser, file("others.c", 0644, kOther), own_));
  EXPECT_TRUE(shows_to(kUser, file("others.c", 0644, kOther), {true, {folder_}}));
  EXPECT_FALSE(shows_to(kUser, file("closed.c", 0600, kOther), {true, {folder_}}))
      << "the user's rights decide";
}

TEST_F(SourceFileTest, AnOwnFileIsOneThatNobodyElseCanChange) {
  const std::string path = file("p.pb.gz", 0600);
  EXPECT_TRUE(is_own_file(path));
  chmod(path.c_str(), 0666);
  EXPECT_FALSE(is_own_file(path));
  chmod(path.c_str(), 0644);
  const std::string folder = folder_ + "/open";
  const std::string inside = file("open/p.pb.gz");
  EXPECT_TRUE(is_own_file(inside));
  chmod(folder.c_str(), 0777);
  EXPECT_FALSE(is_own_file(inside)) << "another user can put a file in its place";
  chmod(folder.c_str(), 01777);
  EXPECT_TRUE(is_own_file(inside)) << "a sticky folder, like /tmp";
  EXPECT_FALSE(is_own_file(folder_ + "/missing"));
  EXPECT_FALSE(is_own_file(""));
  EXPECT_FALSE(is_own_file("/dev/fd/0/x"));
}

TEST_F(SourceFileTest, AFileOrLinkOfAnotherUserIsNotOwn) {
  if (!is_root()) GTEST_SKIP() << "needs root, to make files of others";
  EXPECT_FALSE(is_own_file(file("p.pb.gz", 0644, kUser)));
  EXPECT_FALSE(as_user(kUser, [path = file("roots.pb.gz")] { return is_own_file(path); }));
  const std::string own = file("own.pb.gz");
  const std::string link = folder_ + "/link.pb.gz";
  ASSERT_EQ(symlink(own.c_str(), link.c_str()), 0);
  EXPECT_TRUE(is_own_file(link));
  ASSERT_EQ(lchown(link.c_str(), kUser, kUser), 0);
  EXPECT_FALSE(is_own_file(link)) << "its owner can lead it elsewhere";
}

TEST_F(SourceFileTest, ARealFolderHasNoLinks) {
  ASSERT_EQ(symlink(folder_.c_str(), (folder_ + "/link").c_str()), 0);
  EXPECT_EQ(real_folder(folder_ + "/link/"), folder_);
  EXPECT_FALSE(real_folder(file("x.c")));
  EXPECT_FALSE(real_folder(folder_ + "/missing"));
}

}  // namespace
}  // namespace memprof::profile
