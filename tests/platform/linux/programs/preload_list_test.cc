// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/programs/preload_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memprof::preload_list_test {
namespace {

using Environment = std::vector<const char*>;

// What a program gets; {"same"}: the environment as it was.
std::vector<std::string> copy_of(Environment entries, const char* instead = "") {
  entries.push_back(nullptr);
  auto* const environment = const_cast<char**>(entries.data());
  const size_t size = platform::environment_copy_bytes(environment, instead);
  if (size == 0) {
    return {"same"};
  }
  std::vector<char*> memory(size / sizeof(char*) + 1);
  char* const* const copy = platform::copy_environment(environment, memory.data(), size, instead);
  if (copy == environment) {
    return {"same"};
  }
  std::vector<std::string> found;
  for (size_t i = 0; copy[i] != nullptr; ++i) {
    found.emplace_back(copy[i]);
  }
  return found;
}

using Texts = std::vector<std::string>;

TEST(PreloadList, OursIsTakenOutAndTheOthersStay) {
  EXPECT_EQ((Texts{"A=1", "B=2"}), copy_of({"A=1", "LD_PRELOAD=/usr/lib/libmemprof.so", "B=2"}));
  EXPECT_EQ((Texts{}), copy_of({"LD_PRELOAD=libmemprof.so"}));
  EXPECT_EQ((Texts{"LD_PRELOAD=/a.so:b.so"}), copy_of({"LD_PRELOAD=/x/libmemprof.so.0:/a.so:b.so"}));
  EXPECT_EQ((Texts{"LD_PRELOAD=/a.so:b.so"}), copy_of({"LD_PRELOAD=/a.so /x/libmemprof.so b.so"}));
  EXPECT_EQ((Texts{"LD_PRELOAD=a:b"}), copy_of({"LD_PRELOAD=::a::  :libmemprof.so:b: libmemprof.so:"}));
}

TEST(PreloadList, AnotherInThePlaceOfOurs) {
  const char* const kMusl = "/usr/lib/memprof/musl/libmemprof.so";
  const std::string musl = kMusl;
  EXPECT_EQ((Texts{"A=1", "LD_PRELOAD=" + musl, "B=2"}),
            copy_of({"A=1", "LD_PRELOAD=libmemprof.so", "B=2"}, kMusl));
  EXPECT_EQ((Texts{"LD_PRELOAD=/a.so:" + musl + ":b.so"}),
            copy_of({"LD_PRELOAD=/a.so /x/libmemprof.so b.so"}, kMusl));
  EXPECT_EQ((Texts{"LD_PRELOAD=a:" + musl + ":b"}),
            copy_of({"LD_PRELOAD=::a::  :libmemprof.so:b: /y/libmemprof.so.0:"}, kMusl));
  // A shorter one, and one that is as long as the list.
  EXPECT_EQ((Texts{"LD_PRELOAD=a:b:c:x"}), copy_of({"LD_PRELOAD=a:/a/long/path/libmemprof.so:c:x"}, "b"));
  const std::string others(3000, 'x');
  EXPECT_EQ((Texts{"LD_PRELOAD=" + others + ":" + musl + ":" + others}),
            copy_of({("LD_PRELOAD=" + others + ":libmemprof.so:" + others).c_str()}, kMusl));
  EXPECT_EQ((Texts{"same"}), copy_of({"LD_PRELOAD=/a.so"}, kMusl));
}

TEST(PreloadList, OursByTheNameThatTheLoaderHas) {
  platform::set_own_library("/opt/profiler.so");
  EXPECT_EQ((Texts{"LD_PRELOAD=/opt/profiler.so.1"}),
            copy_of({"LD_PRELOAD=/opt/profiler.so:/opt/profiler.so.1"}));
  platform::set_own_library("");
}

TEST(PreloadList, WithoutOursItIsTheSame) {
  EXPECT_EQ((Texts{"same"}), copy_of({}));
  EXPECT_EQ((Texts{"same"}), copy_of({"A=libmemprof.so", "XLD_PRELOAD=libmemprof.so", "LD_PRELOAD"}));
  EXPECT_EQ((Texts{"same"}), copy_of({"LD_PRELOAD="}));
  EXPECT_EQ((Texts{"same"}), copy_of({"LD_PRELOAD=/libmemprof.so/other.so:xlibmemprof.so"}));
}

TEST(PreloadList, TheLoaderTakesTheLastOne) {
  EXPECT_EQ((Texts{"LD_PRELOAD=libmemprof.so", "LD_PRELOAD=a"}),
            copy_of({"LD_PRELOAD=libmemprof.so", "LD_PRELOAD=libmemprof.so:a"}));
}

TEST(PreloadList, LongOnes) {
  const std::string others(3000, 'x');
  const std::string list = "LD_PRELOAD=" + others + ":libmemprof.so:" + others;
  EXPECT_EQ((Texts{"LD_PRELOAD=" + others + ":" + others}), copy_of({list.c_str()}));
  const std::string too_long = "LD_PRELOAD=libmemprof.so:" + std::string(1 << 20, 'x');
  EXPECT_EQ((Texts{"same"}), copy_of({too_long.c_str()}));
}

TEST(PreloadList, WhatIsNoMemory) {
  const auto* const no_memory = reinterpret_cast<const char*>(8);
  EXPECT_EQ(0u, platform::environment_copy_bytes(nullptr));
  EXPECT_EQ(0u, platform::environment_copy_bytes(reinterpret_cast<char* const*>(8)));
  // exec fails with EFAULT, as it does without us.
  EXPECT_EQ((Texts{"A=1"}).size(), copy_of({"A=1", "LD_PRELOAD=libmemprof.so"}).size());
  Environment entries{no_memory, "LD_PRELOAD=libmemprof.so", nullptr};
  auto* const environment = const_cast<char**>(entries.data());
  char* memory[64];
  const size_t size = platform::environment_copy_bytes(environment);
  ASSERT_LE(size, sizeof(memory));
  char* const* const copy = platform::copy_environment(environment, memory, size);
  EXPECT_EQ(no_memory, copy[0]);
}

// Another thread changed it after it was measured: never more than there is room for.
TEST(PreloadList, AnEnvironmentThatChanges) {
  Environment entries{"A=1", "LD_PRELOAD=libmemprof.so:a", nullptr, nullptr};
  auto* const environment = const_cast<char**>(entries.data());
  const size_t size = platform::environment_copy_bytes(environment);
  entries[2] = "B=2";
  std::vector<char*> memory(size / sizeof(char*) + 2, nullptr);
  auto* const end = reinterpret_cast<char*>(memory.data()) + size;
  *end = 'x';
  platform::copy_environment(environment, memory.data(), size);
  EXPECT_EQ('x', *end);
  entries[1] = "A=2";
  EXPECT_EQ(environment, platform::copy_environment(environment, memory.data(), size));
  entries[1] = "LD_PRELOAD=libmemprof.so:a:b:c:d:e:f:g";
  platform::copy_environment(environment, memory.data(), size, "/a/path/that/is/longer/libmemprof.so");
  EXPECT_EQ('x', *end);
}

}  // namespace
}  // namespace memprof::preload_list_test
