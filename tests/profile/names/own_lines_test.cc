// SPDX-License-Identifier: Apache-2.0
// Which line of the program stands beside a row of others' code: programs that no file has, and code made at run time.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "profile/names/frame_grouping.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

// Of the profile's only stack: its row, and the line that called it.
std::string row_of(Builder& b) {
  FrameGrouping grouping(b.profile(), GroupBy::kFunction);
  std::vector<GroupedFrame> frames;
  grouping.frames_of(b.profile().stacks[0], &frames);
  const std::string name = grouping.groups()[frames.front().group].name;
  const auto line = grouping.own_caller();
  return line ? name + " for " + line->function + " " + line->file + ":" + std::to_string(line->line) : name;
}

// Who called what an installed package allocated, or code that was made at run time.
TEST(OwnLines, OfAProgramThatNoFileHas) {
  const std::string kPackages = "/usr/lib/python3/dist-packages/";
  const auto of = [&](const std::function<void(Builder&)>& build) {
    Builder b;
    build(b);
    return row_of(b);
  };
  const auto numpy = [&](Builder& b) { return b.python("ones", kPackages + "numpy/numeric.py", 9); };
  const auto import = [&](Builder& b) {
    return b.python("_call_with_frames_removed", "<frozen importlib._bootstrap>", 241);
  };
  // python3 -c
  EXPECT_EQ(of([&](Builder& b) {
              b.stack({numpy(b), b.python("f", "<string>", 2), b.python("<module>", "<string>", 3)}, 1, 1);
            }),
            "ones for f <string>:2");
  EXPECT_EQ(of([&](Builder& b) {
              b.stack(
                  {b.python("made", "<string>", 1), b.python("<module>", kPackages + "numpy/__init__.py", 5),
                   import(b), b.python("<module>", "<string>", 3)},
                  1, 1);
            }),
            "importing numpy for <module> <string>:3");
  EXPECT_EQ(of([&](Builder& b) {
              b.stack({b.python("f", "<string>", 2), b.python("<module>", "<string>", 3)}, 1, 1);
            }),
            "f")
      << "the program's own";
  // A cell is run by an installed package.
  EXPECT_EQ(of([&](Builder& b) {
              b.stack({numpy(b), b.python("make", "<ipython-input-1-02ec4a2b768f>", 2),
                       b.python("run_code", kPackages + "IPython/core/interactiveshell.py", 8),
                       b.python("<module>", "app.py", 4)},
                      1, 1);
            }),
            "ones for make <ipython-input-1-02ec4a2b768f>:2");
  // What a library makes: a template, methods of a class.
  EXPECT_EQ(of([&](Builder& b) {
              b.stack(
                  {b.python("root", "<template>", 16),
                   b.python("render", kPackages + "jinja2/environment.py", 7), b.python("page", "app.py", 4)},
                  1, 1);
            }),
            "root for page app.py:4");
  EXPECT_EQ(of([&](Builder& b) {
              b.stack({b.python("__init__", "<string>", 3), b.python("points", "app.py", 4)}, 1, 1);
            }),
            "__init__ for points app.py:4");
}

TEST(OwnLines, TheLineThatBeginsAChildOfMultiprocessingIsNobodys) {
  const std::string kPackages = "/usr/lib/python3/dist-packages/";
  for (const char* file : {"spawn.py", "forkserver.py"}) {
    Builder b;
    const uint32_t begin = b.python("<module>", "<string>", 1);
    const uint32_t numpy = b.python("<module>", kPackages + "numpy/__init__.py", 5);
    const uint32_t import = b.python("_call_with_frames_removed", "<frozen importlib._bootstrap>", 241);
    b.stack({numpy, import, b.python("main", "/usr/lib/python3.12/multiprocessing/" + std::string(file), 9),
             begin},
            1, 1);
    b.stack({import, begin}, 1, 1);
    EXPECT_EQ(row_of(b), "importing numpy") << file;
  }
}

}  // namespace
}  // namespace memprof::profile
