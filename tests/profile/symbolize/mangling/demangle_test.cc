// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/mangling/demangle.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(Demangle, CxxNames) {
  EXPECT_EQ(demangle("_ZN7fixture8exportedEi"), "fixture::exported(int)");
  EXPECT_EQ(demangle("_Znwm"), "operator new(unsigned long)");
  EXPECT_EQ(demangle("_ZN3FooC2Ev"), "Foo::Foo()");
}

TEST(Demangle, RustLegacyNamesLoseTheirHash) {
  EXPECT_EQ(demangle("_ZN1a6shapes10S$LT$T$GT$4grow17he836b43c47d0887bE"), "a::shapes::S<T>::grow");
  EXPECT_EQ(
      demangle("_ZN58_$LT$a..shapes..S$LT$u8$GT$$u20$as$u20$a..shapes..Area$GT$4area17h0123456789abcdefE"),
      "<a::shapes::S<u8> as a::shapes::Area>::area");
  EXPECT_EQ(demangle("_ZN4core3ops8function6FnOnce9call_once17h0123456789abcdefE.llvm.1234567"),
            "core::ops::function::FnOnce::call_once");
}

TEST(Demangle, RustV0Names) {
  EXPECT_EQ(demangle("_RNvCs15kBYyAo9fc_7mycrate7example"), "mycrate::example");
  EXPECT_EQ(demangle("_RINvNtC3std3mem8align_ofjE"), "std::mem::align_of::<usize>");
  EXPECT_EQ(demangle("_RNCNvCs15kBYyAo9fc_7mycrate4main0B3_"), "mycrate::main::{closure#0}");
  EXPECT_EQ(demangle("_RNvXs_NtC1a6shapesINtB4_1ShENtB4_4Area4area"),
            "<a::shapes::S<u8> as a::shapes::Area>::area");
}

TEST(Demangle, DNames) {
  EXPECT_EQ(demangle("_D6shapes__T1STiZQf4growMFiZAi"), "shapes.S!(int).S.grow(int)");
  EXPECT_EQ(demangle("_Dmain"), "D main");
}

TEST(Demangle, NamesOfWhatMypycCompiled) {
  EXPECT_EQ(demangle("CPyDef_build___State___parse"), "build.State.parse");
  EXPECT_EQ(demangle("CPyDef_"), "CPyDef_");
}

TEST(Demangle, WrongNamesStayAsTheyAre) {
  for (const char* name : {"_R", "_RNv", "_RNvC", "_RXYZ", "_D1", "_D99999999999999999999x", "_Dx",
                           "_RNvB_1a", "_RNvNvNvNvB2_"}) {
    EXPECT_EQ(demangle(name), name);
  }
  const std::string deep = "_RNv" + std::string(60'000, 'N') + "C1a1b";
  EXPECT_EQ(demangle(deep), deep);
  const std::string deep_d = "_D1a" + std::string(60'000, 'F');
  EXPECT_EQ(demangle(deep_d), deep_d);
  const std::string huge = "_ZN1" + std::string(1 << 20, 'a') + "E";
  EXPECT_EQ(demangle(huge), huge);
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
