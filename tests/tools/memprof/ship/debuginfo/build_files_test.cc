// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/debuginfo/build_files.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "tests/tools/memprof/process.h"
#include "tests/tools/memprof/ship/debuginfo/elf_text.h"

namespace memprof::cli {
namespace {

using testing_tools::ElfText;
using testing_tools::write_file;

constexpr char kId[] = "0123456789abcdef";
constexpr char kIdBytes[] = "\x01\x23\x45\x67\x89\xab\xcd\xef";

std::string elf(bool has_symbols, const std::string& link = "", const std::string& id = kIdBytes) {
  ElfText text;
  text.id = id;
  text.has_symbols = has_symbols;
  text.link = link;
  return text.bytes();
}

// A file that this process has mapped as code, until it goes.
class Mapped {
 public:
  explicit Mapped(const std::string& path) {
    const profile::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    pages_ = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
    EXPECT_NE(pages_, MAP_FAILED);
  }
  ~Mapped() { munmap(pages_, 4096); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

 private:
  void* pages_;
};

class BuildFilesTest : public testing::Test {
 protected:
  BuildFilesTest() { std::filesystem::create_directory(folder_ / "debug"); }

  void look() { files_.look({{static_cast<uint64_t>(getpid()), ""}}); }
  // The name; "": there is none.
  std::string name_of(BuildPart part, const std::string& id = kId) {
    const auto file = files_.open({id, part}, &is_replaced_);
    return file != nullptr ? file->name : "";
  }
  std::string put_debug_file(const std::string& bytes) {
    const std::string folder = folder_ / "debug/.build-id/01";
    std::filesystem::create_directories(folder);
    write_file(folder + "/23456789abcdef.debug", bytes);
    return folder + "/23456789abcdef.debug";
  }

  testing_tools::Folder folder_;
  BuildFiles files_{folder_ / "debug"};
  bool is_replaced_ = false;
};

TEST_F(BuildFilesTest, WhatIsMappedIsThere) {
  write_file(folder_ / "shop", elf(true));
  EXPECT_EQ(name_of(BuildPart::kExecutable), "");
  look();
  EXPECT_EQ(name_of(BuildPart::kExecutable), "") << "nobody has it mapped";
  const Mapped shop(folder_ / "shop");
  look();
  EXPECT_TRUE(files_.has(kId));
  EXPECT_EQ(name_of(BuildPart::kExecutable), "shop");
  EXPECT_EQ(name_of(BuildPart::kDebuginfo), "shop") << "it has symbols itself";
  EXPECT_EQ(name_of(BuildPart::kExecutable, "fedcba9876543210"), "");
  EXPECT_FALSE(is_replaced_);
  const auto file = files_.open({kId, BuildPart::kExecutable}, &is_replaced_);
  EXPECT_EQ(file->size_bytes, elf(true).size());
}

TEST_F(BuildFilesTest, DebugFilesByBuildIdAndByLink) {
  write_file(folder_ / "shop", elf(false, "shop.debug"));
  const Mapped shop(folder_ / "shop");
  look();
  EXPECT_EQ(name_of(BuildPart::kDebuginfo), "");
  EXPECT_EQ(name_of(BuildPart::kExecutable), "shop");
  write_file(folder_ / "shop.debug", elf(true, "", std::string(8, 'x')));
  EXPECT_EQ(name_of(BuildPart::kDebuginfo), "") << "of another build";
  std::filesystem::create_directory(folder_ / ".debug");
  write_file(folder_ / ".debug/shop.debug", elf(true));
  EXPECT_EQ(name_of(BuildPart::kDebuginfo), "shop.debug");
  const std::string by_id = put_debug_file(elf(true));
  EXPECT_EQ(name_of(BuildPart::kDebuginfo), "23456789abcdef.debug");
  write_file(by_id, elf(false));
  EXPECT_EQ(name_of(BuildPart::kDebuginfo), "shop.debug") << "without names it is of no use";
}

// As it is for a user who can make links to what only a shipper of root may read.
TEST_F(BuildFilesTest, ADebugFileHasTheOwnerOfItsProgram) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  write_file(folder_ / "shop", elf(false, "shop.debug"));
  write_file(folder_ / "secret", elf(true));
  std::filesystem::create_symlink(folder_ / "secret", folder_ / "shop.debug");
  constexpr uid_t kUser = 12345;
  ASSERT_EQ(chown((folder_ / "shop").c_str(), kUser, kUser), 0);
  const Mapped shop(folder_ / "shop");
  look();
  EXPECT_EQ(name_of(BuildPart::kExecutable), "shop");
  EXPECT_EQ(name_of(BuildPart::kDebuginfo), "");
  ASSERT_EQ(chown((folder_ / "secret").c_str(), kUser, kUser), 0);
  EXPECT_EQ(name_of(BuildPart::kDebuginfo), "shop.debug");
}

TEST_F(BuildFilesTest, AFileStaysWhenItsProcessHasEnded) {
  write_file(folder_ / "shop", elf(true));
  {
    const Mapped shop(folder_ / "shop");
    look();
  }
  look();
  EXPECT_EQ(name_of(BuildPart::kExecutable), "shop");
  put_debug_file(elf(true));
  std::filesystem::remove(folder_ / "shop");
  EXPECT_EQ(name_of(BuildPart::kExecutable), "");
  EXPECT_FALSE(is_replaced_);
  EXPECT_EQ(name_of(BuildPart::kDebuginfo), "23456789abcdef.debug");
}

TEST_F(BuildFilesTest, WhatReplacedItIsNotServed) {
  write_file(folder_ / "shop", elf(true));
  {
    const Mapped shop(folder_ / "shop");
    look();
  }
  // Another build, in place; then another file, with the same build id, by another name before.
  write_file(folder_ / "shop", elf(true, "", std::string(8, 'x')));
  EXPECT_EQ(name_of(BuildPart::kExecutable), "");
  EXPECT_TRUE(is_replaced_);
  write_file(folder_ / "shop", elf(true));
  EXPECT_EQ(name_of(BuildPart::kExecutable), "shop");
  write_file(folder_ / "new", elf(true));
  std::filesystem::rename(folder_ / "new", folder_ / "shop");
  EXPECT_EQ(name_of(BuildPart::kExecutable), "");
  EXPECT_TRUE(is_replaced_);
  std::filesystem::remove(folder_ / "shop");
  write_file(folder_ / "elsewhere", elf(true));
  std::filesystem::create_symlink(folder_ / "elsewhere", folder_ / "shop");
  EXPECT_EQ(name_of(BuildPart::kExecutable), "") << "a link";
  std::filesystem::remove(folder_ / "shop");
  ASSERT_EQ(mkfifo((folder_ / "shop").c_str(), 0600), 0);
  EXPECT_EQ(name_of(BuildPart::kExecutable), "") << "a pipe";
}

TEST_F(BuildFilesTest, TheOldestMakesRoom) {
  look();
  BuildFiles files(folder_ / "debug", files_.size() + 1);  // this program, and one more
  const std::vector<WatchedProcess> here = {{static_cast<uint64_t>(getpid()), ""}};
  write_file(folder_ / "a", elf(true, "", "aaaa"));
  write_file(folder_ / "b", elf(true, "", "bbbb"));
  write_file(folder_ / "c", elf(true, "", "cccc"));
  {
    const Mapped a(folder_ / "a");
    files.look(here);
    EXPECT_TRUE(files.has("61616161"));
  }
  const Mapped b(folder_ / "b");
  files.look(here);
  EXPECT_FALSE(files.has("61616161"));
  EXPECT_TRUE(files.has("62626262"));
  const Mapped c(folder_ / "c");
  files.look(here);
  EXPECT_EQ(files.size(), files_.size() + 1) << "what is there now makes no room";
}

TEST_F(BuildFilesTest, NoNoteNoFile) {
  write_file(folder_ / "short", elf(true, "", "abc"));
  write_file(folder_ / "text", std::string(5000, 'x'));
  const Mapped a(folder_ / "short"), b(folder_ / "text");
  const size_t before = files_.size();
  look();
  EXPECT_FALSE(files_.has("616263"));
  EXPECT_GE(files_.size(), before);
}

}  // namespace
}  // namespace memprof::cli
