// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/mangling/mypyc_name.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(MypycName, PathsAreThoseOfTheSource) {
  EXPECT_EQ(mypyc_name("CPyDef_build___build"), "build.build");
  EXPECT_EQ(mypyc_name("CPyDef_build___State_____init__"), "build.State.__init__");
  EXPECT_EQ(mypyc_name("CPyDef_mypy___build___State___parse.cold"), "mypy.build.State.parse");
  EXPECT_EQ(mypyc_name("CPyDef_analysis_____top_level__"), "analysis.<module>");
  EXPECT_EQ(mypyc_name("CPyDef_m___a___3_b"), "m.a___b");
}

TEST(MypycName, WhatStandsForAFunctionHasItsName) {
  EXPECT_EQ(mypyc_name("CPyDef_annotate___Visitor___visit_call__NodeVisitor_glue"),
            "annotate.Visitor.visit_call");
  EXPECT_EQ(mypyc_name("CPyDef_pytree_____mypyc__Leaf_setup"), "pytree.Leaf");
  EXPECT_EQ(mypyc_name("CPyDef_linegen___Lines___visit_gen_____mypyc_generator_helper__"),
            "linegen.Lines.visit");
  EXPECT_EQ(mypyc_name("CPyDef_black___imports_gen___3_1781_____mypyc_generator_helper__"), "black.imports");
}

TEST(MypycName, OthersHaveNone) {
  for (const char* other : {"", "CPyDef_", "CPyPy_build___build", "CPyDict_SetItem", "_ZN3fooEv"}) {
    EXPECT_EQ(mypyc_name(other), "") << other;
  }
  for (const char* odd :
       {"CPyDef__glue", "CPyDef_x", "CPyDef_________", "CPyDef____3_",
        "CPyDef_a_____mypyc_generator_helper__", "CPyDef_m_____mypyc___setup", "CPyDef_m_____mypyc_setup"}) {
    mypyc_name(odd);
  }
}

}  // namespace
}  // namespace memprof::profile
