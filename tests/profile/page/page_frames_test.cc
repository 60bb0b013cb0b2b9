// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_frames.h"

#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

class PageFramesTest : public ::testing::Test {
 protected:
  // "name" of each site, root first, with what its role says.
  std::string text_of(const std::vector<uint32_t>& sites) const {
    std::string text;
    for (const uint32_t site : sites) {
      const PageSite& own = frames_.sites()[site];
      text += *frames_.texts().texts()[frames_.frames()[own.frame].name];
      text += ":" + std::to_string(own.role & kRoleMask) + ((own.role & kIsInterpreter) != 0 ? "i" : "") +
              ((own.role & kStartsInterpreter) != 0 ? "s" : "") +
              ((own.role & kCallsStart) != 0 ? "c " : " ");
    }
    return text;
  }
  PageFrames frames_;
};

TEST_F(PageFramesTest, RolesAreThoseOfReports) {
  Builder builder;
  const uint32_t malloc = builder.at("malloc");
  const uint32_t wrapper = builder.at("xmalloc");
  const uint32_t main = builder.at("main", "main.c", 7);
  builder.stack({malloc, wrapper, main}, 64, 1);
  ProfileFrames own(builder.profile(), &frames_);
  EXPECT_EQ(text_of(own.root_first(builder.profile().stacks[0])), "main:0 xmalloc:2 malloc:1 ");
  EXPECT_EQ(frames_.frames()[2].flags & kNameIsAllocator, 0u);
  EXPECT_NE(frames_.frames()[0].flags & kNameIsAllocator, 0u);
}

TEST_F(PageFramesTest, NamelessCodeIsLeftOutUnderPythonOnly) {
  Builder builder;
  const uint32_t native = builder.at("");
  const uint32_t python = builder.python("work", "/app/work.py", 3);
  builder.stack({native, python}, 64, 1).stack({native}, 64, 1);
  ProfileFrames own(builder.profile(), &frames_);
  const std::string under = text_of(own.root_first(builder.profile().stacks[0]));
  const std::string alone = text_of(own.root_first(builder.profile().stacks[1]));
  EXPECT_EQ(under.substr(under.size() - 3), ":5 ");
  EXPECT_EQ(alone.substr(alone.size() - 3), ":0 ");
}

TEST_F(PageFramesTest, NativeCodeThatALineCalledHasARoleOfItsOwn) {
  Builder builder;
  builder.module("python3.11").module("_umath.so");
  std::swap(builder.profile().mappings[0], builder.profile().mappings[1]);
  const uint32_t native = builder.at("array_empty");
  builder.stack({native, builder.python("prices", "/app/app.py", 4)}, 64, 1).stack({native}, 64, 1);
  ProfileFrames own(builder.profile(), &frames_);
  EXPECT_EQ(text_of(own.root_first(builder.profile().stacks[0])), "prices:0 array_empty:7 ");
  EXPECT_EQ(text_of(own.root_first(builder.profile().stacks[1])), "array_empty:0 ");
}

TEST_F(PageFramesTest, TheInterpretersOwnFramesAreMarked) {
  Builder builder;
  const uint32_t python = builder.python("work", "/app/work.py", 3);
  builder.module("python3.11");
  const uint32_t interpreter = builder.at("_PyEval_EvalFrameDefault");
  builder.stack({interpreter, python}, 64, 1).stack({interpreter}, 64, 1);
  ProfileFrames own(builder.profile(), &frames_);
  EXPECT_EQ(text_of(own.root_first(builder.profile().stacks[0])), "work:0 _PyEval_EvalFrameDefault:0i ");
  EXPECT_EQ(text_of(own.root_first(builder.profile().stacks[1])), "_PyEval_EvalFrameDefault:0 ");
}

TEST_F(PageFramesTest, TheStartOfPythonIsMarkedWhereNoLineCalledIt) {
  Builder builder;
  const uint32_t line = builder.python("work", "/app/work.py", 3);
  const uint32_t gap = builder.at("[frames left out]");
  builder.module("python3.11");
  const uint32_t type = builder.at("PyType_Ready");
  const uint32_t start = builder.at("Py_InitializeFromConfig");
  const uint32_t main = builder.at("Py_BytesMain");
  builder.stack({type, start, main}, 64, 1)
      .stack({start, line, main}, 64, 1)
      .stack({gap, start, main}, 64, 1);
  ProfileFrames own(builder.profile(), &frames_);
  const auto& stacks = builder.profile().stacks;
  EXPECT_EQ(text_of(own.root_first(stacks[0])), "Py_BytesMain:0c Py_InitializeFromConfig:0s PyType_Ready:0 ");
  EXPECT_EQ(text_of(own.root_first(stacks[1])), "Py_BytesMain:0i work:0 Py_InitializeFromConfig:0i ");
  EXPECT_EQ(text_of(own.root_first(stacks[2])),
            "Py_BytesMain:0 Py_InitializeFromConfig:0 [frames left out]:6 ");
}

TEST_F(PageFramesTest, CodeOfPythonHasThePackageThatItIsInstalledWith) {
  Builder builder;
  const uint32_t numpy = builder.python("ones", "/usr/lib/python3/dist-packages/numpy/numeric.py", 12);
  const uint32_t own = builder.python("prices", "/app/app.py", 4);
  const uint32_t made = builder.python("exec", "<string>", 1);
  builder.stack({builder.at("array_empty"), numpy, made, own}, 64, 1);
  ProfileFrames(builder.profile(), &frames_).root_first(builder.profile().stacks[0]);
  std::string packages;
  for (const PageFrame& frame : frames_.frames()) {
    packages += *frames_.texts().texts()[frame.package];
    packages += (frame.flags & kPackageIsKnown) != 0 ? "! " : "? ";
  }
  EXPECT_EQ(packages, "? numpy! ? ! ");
}

TEST_F(PageFramesTest, AStackWithoutFramesHasAName) {
  Builder builder;
  builder.stack({}, 64, 1);
  ProfileFrames own(builder.profile(), &frames_);
  EXPECT_EQ(text_of(own.root_first(builder.profile().stacks[0])), "[unknown]:0 ");
}

TEST_F(PageFramesTest, TextsAndFramesOfTwoProfilesAreThereOnce) {
  Builder one;
  Builder two;
  for (Builder* builder : {&one, &two}) builder->stack({builder->at("main", "main.c", 7)}, 64, 1);
  EXPECT_EQ(ProfileFrames(one.profile(), &frames_).root_first(one.profile().stacks[0]),
            ProfileFrames(two.profile(), &frames_).root_first(two.profile().stacks[0]));
  EXPECT_EQ(frames_.frames().size(), 1u);
}

}  // namespace
}  // namespace memprof::profile
