// SPDX-License-Identifier: Apache-2.0
#include "profile/model/cut_stacks.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(CutStacks, RuntimesAreKnownByTheirFiles) {
  ASSERT_NE(cut_runtime("/usr/lib/jvm/java-17/lib/server/libjvm.so"), nullptr);
  EXPECT_STREQ(cut_runtime("/usr/lib/jvm/java-17/lib/server/libjvm.so")->name, "Java");
  EXPECT_EQ(cut_runtime("/usr/bin/java"), cut_runtime("libjvm.so"));
  EXPECT_STREQ(cut_runtime("/usr/lib/erlang/erts-13.1.5/bin/beam.smp")->name, "Erlang");
  for (const char* other : {"", "/", "/usr/bin/javac", "/usr/lib/libjvm.so/x", "/bin/postgres", "[vdso]"}) {
    EXPECT_EQ(cut_runtime(other), nullptr) << other;
  }
}

TEST(CutStacks, EachIsNamedOnce) {
  const auto found = cut_runtimes({"/usr/bin/java", "/lib/libc.so.6", "/x/beam.smp", "/x/libjvm.so"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_STREQ(found[0]->name, "Java");
  EXPECT_STREQ(found[1]->name, "Erlang");
  EXPECT_TRUE(cut_runtimes({}).empty());
}

}  // namespace
}  // namespace memprof::profile
