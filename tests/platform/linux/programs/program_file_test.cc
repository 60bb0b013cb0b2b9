// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/programs/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "platform/process.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::program_file_test {
namespace {

using platform::Preload;
using testing_support::in_child;
using testing_support::TemporaryFolder;

constexpr char kFixtures[] = MEMPROF_IMPORT_FIXTURES;

Preload of(const std::string& path) {
  return platform::preload_into(AT_FDCWD, path.c_str());
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string write_program(const TemporaryFolder& folder, const char* name, const std::string& content) {
  std::string path = folder.write(name, content);
  chmod(path.c_str(), 0755);
  return path;
}

// /bin/true for another loader.
std::string with_loader(const TemporaryFolder& folder, const char* name, const char* loader) {
  std::string content = read_whole("/bin/true");
  const size_t ours = content.find("/ld-linux");
  EXPECT_NE(std::string::npos, ours);
  content.replace(ours, 9, loader);
  return write_program(folder, name, content);
}

std::string with_musl(const TemporaryFolder& folder) {
  return with_loader(folder, "with_musl", "/ld-musl-");
}

TEST(ProgramFile, OrdinaryPrograms) {
  EXPECT_EQ(Preload::kHarmless, of("/bin/true"));
  EXPECT_EQ(Preload::kHarmless, of("/bin/sh"));
  EXPECT_EQ(Preload::kHarmless, of(std::string(kFixtures) + "/exportsother_init"));
}

TEST(ProgramFile, AnotherCLibrary) {
  const TemporaryFolder folder;
  const std::string musl = with_musl(folder);
  EXPECT_EQ(Preload::kSibling, of(musl));
  const int open_file = open(musl.c_str(), O_PATH | O_CLOEXEC);
  EXPECT_EQ(Preload::kSibling, platform::preload_into(open_file));
  close(open_file);
  EXPECT_EQ(Preload::kHarmless, platform::preload_into(open_file));  // it is none
  EXPECT_EQ(Preload::kHarmless, platform::preload_into(-1));
  const int parent = open(folder.path("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(Preload::kSibling, platform::preload_into(parent, "with_musl"));
  close(parent);
  EXPECT_EQ(Preload::kOtherLibc, of(with_loader(folder, "with_other", "/ld-uClib")));
}

TEST(ProgramFile, OtherCode) {
  const TemporaryFolder folder;
  std::string content = read_whole("/bin/true");
  content[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(Preload::kOtherCode, of(write_program(folder, "small", content)));
  content = read_whole("/bin/true");
  content[offsetof(Elf64_Ehdr, e_machine)] = EM_S390;
  EXPECT_EQ(Preload::kOtherCode, of(write_program(folder, "other", content)));
}

TEST(ProgramFile, SanitizersThatAreLinkedIn) {
  for (const char* init : {"__asan_init", "__tsan_init", "__lsan_init", "__msan_init", "__hwasan_init"}) {
    EXPECT_EQ(Preload::kSanitized, of(std::string(kFixtures) + "/exports" + init)) << init;
  }
}

TEST(ProgramFile, OfAScriptItsInterpreter) {
  const TemporaryFolder folder;
  const std::string musl = with_musl(folder);
  const std::string script = write_program(folder, "script", "#! \t" + musl + " -x\nanything");
  EXPECT_EQ(Preload::kSibling, of(script));
  const std::string again = write_program(folder, "again", "#!" + script + "\n");
  EXPECT_EQ(Preload::kSibling, of(again));
  EXPECT_EQ(Preload::kHarmless, of(write_program(folder, "shell", "#!/bin/sh\n" + musl)));
  EXPECT_EQ(Preload::kHarmless, of(write_program(folder, "text", "echo no first line\n")));
  EXPECT_EQ(Preload::kHarmless, of(write_program(folder, "self", "#!" + folder.path("self") + "\n")));
  EXPECT_EQ(Preload::kHarmless, of(write_program(folder, "none", "#!")));
  EXPECT_EQ(Preload::kHarmless, of(write_program(folder, "long", "#!" + std::string(5000, '/'))));
}

TEST(ProgramFile, WhatIsFoundInPath) {
  const TemporaryFolder folder;
  with_musl(folder);
  in_child([&] {
    folder.write("true", "cannot be executed");
    chmod(folder.path("true").c_str(), 0644);
    setenv("PATH", (std::string(2000, 'x') + ":/nowhere:" + folder.path("") + ":/bin").c_str(), 1);
    EXPECT_EQ(Preload::kSibling, platform::preload_into_found("with_musl"));
    EXPECT_EQ(Preload::kHarmless, platform::preload_into_found("true"));  // that of /bin
    EXPECT_EQ(Preload::kHarmless, platform::preload_into_found("no-such-program"));
    EXPECT_EQ(Preload::kHarmless, platform::preload_into_found(""));
    EXPECT_EQ(Preload::kHarmless, platform::preload_into_found(std::string(1000, 'x').c_str()));
    EXPECT_EQ(Preload::kSibling, platform::preload_into_found(folder.path("with_musl").c_str()));
    setenv("PATH", "", 1);  // the current folder
    EXPECT_EQ(Preload::kHarmless, platform::preload_into_found("with_musl"));
    EXPECT_EQ(0, chdir(folder.path("").c_str()));
    EXPECT_EQ(Preload::kSibling, platform::preload_into_found("with_musl"));
  });
}

TEST(ProgramFile, WhatIsNoFileOrNoMemory) {
  const TemporaryFolder folder;
  const auto* const no_memory = reinterpret_cast<const char*>(8);
  errno = 77;
  EXPECT_EQ(Preload::kHarmless, of("/nowhere/nothing"));
  EXPECT_EQ(Preload::kHarmless, of("/dev/tty"));
  EXPECT_EQ(Preload::kHarmless, of("/tmp"));
  EXPECT_EQ(Preload::kHarmless, platform::preload_into(AT_FDCWD, nullptr));
  EXPECT_EQ(Preload::kHarmless, platform::preload_into(AT_FDCWD, no_memory));
  EXPECT_EQ(Preload::kHarmless, platform::preload_into_found(nullptr));
  EXPECT_EQ(Preload::kHarmless, platform::preload_into_found(no_memory));
  EXPECT_EQ(77, errno);
}

// Cut anywhere, or with any byte of its headers changed: no fault, and no endless loop.
TEST(ProgramFile, BrokenFiles) {
  const TemporaryFolder folder;
  const std::string whole = read_whole(std::string(kFixtures) + "/exports__tsan_init");
  for (size_t size = 0; size < whole.size(); size += size < 1200 ? 61 : 4999) {
    of(folder.write("cut", whole.substr(0, size)));
  }
  const size_t dynamic = whole.find("__tsan_init");
  for (size_t at = 0; at < dynamic + 2000 && at < whole.size(); at += at < 1200 ? 7 : 101) {
    for (const char byte : {'\0', '\x7f', '\xff'}) {
      std::string broken = whole;
      broken[at] = byte;
      of(folder.write("broken", broken));
    }
  }
}

TEST(ProgramFile, InASandboxNothingIsAsked) {
  in_child([] {
    const TemporaryFolder folder;
    const std::string musl = with_musl(folder);
    platform::set_sandboxed(true);
    EXPECT_EQ(Preload::kHarmless, of(musl));
    EXPECT_EQ(Preload::kHarmless, platform::preload_into_found(musl.c_str()));
    platform::set_sandboxed(false);
  });
}

}  // namespace
}  // namespace memprof::program_file_test
