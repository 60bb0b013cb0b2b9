// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/cache/name_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "profile/symbolize/object_formats.h"
#include "tests/profile/symbolize/addr2line.h"
#include "tests/support/folder.h"

namespace memprof::profile {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::TemporaryFolder;

// Names each address, and counts who is asked.
class CountedFile : public ObjectFile {
 public:
  explicit CountedFile(std::optional<std::string> depend_on) : depend_on_(std::move(depend_on)) {}

  const std::string& build_id() const override { return build_id_; }
  uint64_t changed_unix_ns() const override { return 0; }
  std::optional<uint64_t> vaddr_of_offset(uint64_t offset) const override { return offset; }
  std::optional<std::string> names_depend_on(const NameSources& /*sources*/) const override {
    return depend_on_;
  }
  std::vector<CodeNames> names_of(const std::vector<uint64_t>& vaddrs, const NameSources& /*sources*/,
                                  std::vector<std::string>* warnings) const override {
    asked.insert(asked.end(), vaddrs.begin(), vaddrs.end());
    if (!warning.empty()) warnings->push_back(warning);
    std::vector<CodeNames> names;
    for (const uint64_t vaddr : vaddrs) {
      CodeNames one;
      if (vaddr % 2 == 0) one.names.push_back({prefix + std::to_string(vaddr), true, "file.cc", 3});
      one.can_be_kept = can_be_kept;
      names.push_back(one);
    }
    return names;
  }

  mutable std::vector<uint64_t> asked;
  std::string prefix = "f";
  std::string warning;
  bool can_be_kept = true;

 private:
  std::optional<std::string> depend_on_;
  std::string build_id_ = "1234";
};

std::vector<std::string> texts(const std::vector<CodeNames>& names) {
  std::vector<std::string> all;
  for (const CodeNames& one : names) all.push_back(one.names.empty() ? "" : one.names[0].name);
  return all;
}

struct NameCacheTest : testing::Test {
  TemporaryFolder parent;
  std::vector<std::string> warnings;

  NameCache begin(NameCacheLimits limits = {}, const std::string& writer = "memprof 1") const {
    return {PrivateFolder(parent.path("."), {"names"}), writer, limits};
  }
  std::vector<std::string> ask(NameCache& cache, const CountedFile& file,
                               const std::vector<uint64_t>& vaddrs) {
    return texts(cache.names_of(file, vaddrs, {}, &warnings));
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    if (!fs::exists(parent.path("names"))) return all;
    for (const auto& entry : fs::directory_iterator(parent.path("names"))) all.push_back(entry.path());
    return all;
  }
  // Looks up what `file` has for 2 and 3, and writes it.
  void fill(const CountedFile& file) {
    NameCache cache = begin();
    ask(cache, file, {2, 3});
    cache.save();
  }
};

TEST_F(NameCacheTest, WhoComesLaterIsNotAskedAgain) {
  const CountedFile file("a");
  {
    NameCache cache = begin();
    EXPECT_THAT(ask(cache, file, {4, 2, 3}), ElementsAre("f4", "f2", ""));
    EXPECT_THAT(ask(cache, file, {2, 8}), ElementsAre("f2", "f8"));
    EXPECT_THAT(file.asked, ElementsAre(4, 2, 3, 8));
    cache.save();
  }
  NameCache later = begin();
  EXPECT_THAT(ask(later, file, {8, 3, 6, 2, 4}), ElementsAre("f8", "", "f6", "f2", "f4"));
  EXPECT_THAT(file.asked, ElementsAre(4, 2, 3, 8, 6));
  EXPECT_EQ(later.counts().cached, 4u);
  EXPECT_EQ(later.counts().resolved, 1u);
  later.save();
  NameCache last = begin();
  EXPECT_THAT(ask(last, file, {6, 8}), ElementsAre("f6", "f8"));
  EXPECT_EQ(last.counts().resolved, 0u);
}

TEST_F(NameCacheTest, OtherFilesAndOtherWritersAreAsked) {
  fill(CountedFile("a"));
  CountedFile other("b");
  other.prefix = "g";
  NameCache cache = begin();
  EXPECT_THAT(ask(cache, other, {2}), ElementsAre("g2"));
  CountedFile same("a");
  same.prefix = "g";
  NameCache newer = begin({}, "memprof 2");
  EXPECT_THAT(ask(newer, same, {2}), ElementsAre("g2"));
  EXPECT_THAT(ask(cache, same, {2}), ElementsAre("f2"));
}

TEST_F(NameCacheTest, WhatCannotBeToldIsAskedEachTime) {
  CountedFile unknown(std::nullopt);
  fill(unknown);
  CountedFile split("split");
  split.can_be_kept = false;
  fill(split);
  CountedFile warned("warned");
  warned.warning = "a file is missing";
  fill(warned);
  EXPECT_THAT(files(), IsEmpty());
  for (const CountedFile* file : {&unknown, &split, &warned}) {
    NameCache cache = begin();
    EXPECT_THAT(ask(cache, *file, {2}), ElementsAre("f2"));
    EXPECT_EQ(cache.counts().resolved, 1u);
    EXPECT_EQ(file->asked.size(), 3u);
  }
  EXPECT_EQ(warnings.size(), 2u);
}

TEST_F(NameCacheTest, WhatIsDamagedIsWrittenAnew) {
  const CountedFile file("a");
  fill(file);
  ASSERT_EQ(files().size(), 1u);
  const std::string path = files()[0];
  const std::string whole = testing_support::read_file(path);
  const std::string damages[] = {"", whole.substr(0, whole.size() / 2), std::string(100, 'x'),
                                 whole + "more"};
  for (const std::string& damage : damages) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damage;
    const size_t before = file.asked.size();
    fill(file);
    EXPECT_EQ(file.asked.size(), before + 2);
    EXPECT_EQ(testing_support::read_file(path), whole);
    fill(file);
    EXPECT_EQ(file.asked.size(), before + 2);
  }
}

TEST_F(NameCacheTest, TheOneUsedLongestAgoMakesRoom) {
  NameCacheLimits limits;
  fill(CountedFile("0"));
  limits.bytes = 3 * fs::file_size(files()[0]);
  for (int i = 1; i < 6; ++i) {
    for (const fs::path& file : files()) {  // each is younger than those before
      const timespec times[2] = {{0, UTIME_OMIT}, {1000 + static_cast<time_t>(files().size()), 0}};
      struct stat status{};
      ASSERT_EQ(stat(file.c_str(), &status), 0);
      if (status.st_mtim.tv_sec > 100'000) utimensat(AT_FDCWD, file.c_str(), times, 0);
    }
    NameCache cache = begin(limits);
    ask(cache, CountedFile(std::to_string(i)), {2, 3});
    cache.save();
    EXPECT_LE(cache.counts().bytes, limits.bytes);
    EXPECT_EQ(files().size(), std::min(3, i + 1)) << i;
  }
  const CountedFile newest("5");
  const CountedFile oldest("0");
  NameCache cache = begin(limits);
  ask(cache, newest, {2});
  ask(cache, oldest, {2});
  EXPECT_THAT(newest.asked, IsEmpty());
  EXPECT_THAT(oldest.asked, ElementsAre(2));
  limits.files = 1;
  NameCache small = begin(limits);
  ask(small, oldest, {4});
  small.save();
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(NameCacheTest, AFileHasABound) {
  NameCacheLimits limits;
  limits.bytes_of_file = 2000;
  const CountedFile file("a");
  std::vector<uint64_t> many;
  for (uint64_t i = 0; i < 1000; ++i) many.push_back(2 * i);
  NameCache cache = begin(limits);
  EXPECT_EQ(ask(cache, file, many).back(), "f1998");
  cache.save();
  ASSERT_EQ(files().size(), 1u);
  EXPECT_LE(fs::file_size(files()[0]), limits.bytes_of_file);
  NameCache later = begin(limits);
  EXPECT_EQ(ask(later, file, many).back(), "f1998");
  EXPECT_GT(later.counts().cached, 10u);
}

TEST_F(NameCacheTest, APartThatSomebodyLeftIsRemoved) {
  const CountedFile file("a");
  fill(file);
  const std::string part = parent.write("names/.part.1", "half");
  const std::string young = parent.write("names/.part.2", "half");
  const timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, part.c_str(), times, 0), 0);
  NameCache cache = begin();
  ask(cache, file, {10});
  cache.save();
  EXPECT_FALSE(fs::exists(part));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(NameCacheTest, WhatCannotBeWrittenIsCountedAndTriedAgain) {
  parent.write("names", "no folder");
  const CountedFile file("a");
  NameCache cache = begin();
  EXPECT_THAT(ask(cache, file, {2}), ElementsAre("f2"));
  cache.save();
  EXPECT_EQ(cache.counts().failures, 1u);
  EXPECT_EQ(cache.problem(), parent.path(".") + "/names: Not a directory");
  EXPECT_THAT(ask(cache, file, {2}), ElementsAre("f2"));  // from memory
  EXPECT_EQ(file.asked.size(), 1u);
  fs::remove(parent.path("names"));
  cache.save();
  EXPECT_EQ(cache.problem(), "");
  EXPECT_EQ(cache.counts().failures, 1u);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(NameCacheTest, WhatIsRemovedMeanwhileIsWrittenAgainWithWhatIsNew) {
  const CountedFile file("a");
  NameCache cache = begin();
  ask(cache, file, {2});
  cache.save();
  fs::remove_all(parent.path("names"));
  ask(cache, file, {4});
  cache.save();
  EXPECT_EQ(cache.problem(), "");
  NameCache later = begin();
  EXPECT_THAT(ask(later, file, {4}), ElementsAre("f4"));
  EXPECT_EQ(later.counts().cached, 1u);
}

TEST_F(NameCacheTest, WhatTwoCommandsFoundIsJoined) {
  const CountedFile file("a");
  NameCache first = begin();
  NameCache second = begin();
  ask(first, file, {2});
  ask(second, file, {4});
  first.save();
  second.save();
  NameCache later = begin();
  ask(later, file, {2, 4});
  EXPECT_EQ(later.counts().cached, 2u);
}

TEST_F(NameCacheTest, ManyAtOnceGetWhatIsRight) {
  std::vector<std::thread> threads;
  std::vector<size_t> wrong(8, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      NameCache cache = begin();
      std::vector<std::string> said;
      for (uint64_t i = 0; i < 40; ++i) {
        const uint64_t vaddr = 2 * ((i * (t + 3)) % 30);
        const CountedFile file(std::to_string(i % 3));
        const auto names = texts(cache.names_of(file, {vaddr, vaddr + 1}, {}, &said));
        wrong[t] += names != std::vector<std::string>{"f" + std::to_string(vaddr), ""} ? 1 : 0;
        cache.save();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0u));
  for (const fs::path& file : files()) EXPECT_EQ(file.extension(), ".names");
}

// Programs and debug files, as they are.
std::vector<std::string> names_with(NameCache* cache, const std::string& program,
                                    const NameSources& sources) {
  std::string why;
  std::vector<std::string> warnings;
  const auto addresses = fixture::addresses_of_code(*ElfFile::open(fixture::path("pie"), &why), 20);
  const auto file = open_object_file(program, fixture::kBuildId, &why);
  return texts(cache != nullptr ? cache->names_of(*file, addresses, sources, &warnings)
                                : file->names_of(addresses, sources, &warnings));
}

TEST_F(NameCacheTest, ADebugFileThatIsInstalledOrRemovedLaterCounts) {
  const std::string program = fixture::path("stripped");
  const std::string folder = std::string(fixture::kBuildId).substr(0, 2);
  const std::string debug_file =
      parent.path("debug/.build-id/" + folder + "/" + std::string(fixture::kBuildId).substr(2) + ".debug");
  fs::create_directories(fs::path(debug_file).parent_path());
  NameSources sources;
  sources.debug_root = parent.path("debug");
  for (int round = 0; round < 2; ++round) {
    const auto without = names_with(nullptr, program, sources);
    NameCache first = begin();
    EXPECT_EQ(names_with(&first, program, sources), without);
    first.save();
    // (A link, so that its time is long ago.)
    fs::create_symlink(fixture::path("pie"), debug_file);
    const auto with = names_with(nullptr, program, sources);
    ASSERT_NE(with, without);
    NameCache second = begin();
    EXPECT_EQ(names_with(&second, program, sources), with);
    second.save();
    NameCache third = begin();
    EXPECT_EQ(names_with(&third, program, sources), with);
    EXPECT_EQ(third.counts().resolved, 0u);
    fs::remove(debug_file);
  }
}

TEST_F(NameCacheTest, FilesOfOneBuildAreToldApart) {
  for (int round = 0; round < 2; ++round) {
    for (const char* program : {"pie", "stripped", "linked/pie", "mini_stripped"}) {
      NameSources sources;
      sources.debug_root = "/nowhere";
      NameCache cache = begin();
      EXPECT_EQ(names_with(&cache, fixture::path(program), sources),
                names_with(nullptr, fixture::path(program), sources));
      cache.save();
      EXPECT_EQ(cache.counts().resolved == 0, round == 1);
    }
  }
}

// One whose time may be that of another content, and one that others can change.
TEST_F(NameCacheTest, NamesOfFilesThatMayChangeUnseenAreNotKept) {
  const std::string copy = parent.path("copy");
  fs::copy_file(fixture::path("pie"), copy);
  NameCache cache = begin();
  EXPECT_EQ(names_with(&cache, copy, {}), names_with(nullptr, copy, {}));
  ASSERT_EQ(chmod(copy.c_str(), 0777), 0);
  EXPECT_EQ(names_with(&cache, copy, {}), names_with(nullptr, copy, {}));
  cache.save();
  EXPECT_EQ(cache.counts().cached, 0u);
  EXPECT_THAT(files(), IsEmpty());
}

}  // namespace
}  // namespace memprof::profile
