// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/demangle.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(Demangle, CxxNames) {
  EXPECT_EQ(demangle("_ZN7fixture8exportedEi"), "fixture::exported(int)");
  EXPECT_EQ(demangle("_Znwm"), "operator new(unsigned long)");
  EXPECT_EQ(demangle("_ZN3FooC2Ev"), "Foo::Foo()");
}

TEST(Demangle, OtherNamesStayAsTheyAre) {
  // `i` and `f` are types to __cxa_demangle.
  for (const char* name :
       {"i", "f", "main", "malloc", "", "_Z", "_Zwrong!", "_start", "_R1x", "foo.part.0"}) {
    EXPECT_EQ(demangle(name), name);
  }
}

}  // namespace
}  // namespace memprof::profile
