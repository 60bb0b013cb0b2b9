// SPDX-License-Identifier: Apache-2.0
#include "profile/view/row_notes.h"

#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

// One row, `ones` of NumPy, that is called by two functions and calls two.
class RowNotesOfARow : public ::testing::Test {
 protected:
  RowNotesOfARow() {
    b_.module("_umath.so");
    empty_ = b_.at("array_empty");
    nameless_ = b_.at("");
    ones_ = b_.python("ones", "/usr/lib/python3/dist-packages/numpy/numeric.py", 12);
    prices_ = b_.python("prices", "app.py", 4);
    volumes_ = b_.python("volumes", "app.py", 6);
    b_.stack({empty_, ones_, prices_}, 100, 1)
        .stack({nameless_, ones_, volumes_}, 100, 1)
        .stack({ones_}, 100, 1);
  }

  // `values`: of the three stacks.
  NoteSums sums(std::initializer_list<double> values) {
    FrameGrouping grouping(b_.profile(), GroupBy::kFunction);
    NoteSums notes;
    std::vector<GroupedFrame> frames;
    size_t i = 0;
    for (const double value : values) {
      grouping.frames_of(b_.profile().stacks[i++], &frames);
      notes.add(value, grouping);
    }
    return notes;
  }

  Builder b_;
  uint32_t empty_, nameless_, ones_, prices_, volumes_;
};

TEST_F(RowNotesOfARow, AreWhatAtLeastHalfOfItBelongsTo) {
  const RowNotes half = sums({50, 20, 30}).notes(100);
  ASSERT_TRUE(half.through && half.called_by);
  EXPECT_EQ(half.through->function, "array_empty");
  EXPECT_EQ(half.called_by->function, "prices");
  EXPECT_EQ(half.called_by->line, 4);
  const RowNotes less = sums({49, 20, 31}).notes(100);
  EXPECT_FALSE(less.through || less.called_by);
}

TEST_F(RowNotesOfARow, OfCodeWithoutANameAreItsModule) {
  const RowNotes notes = sums({1, 99}).notes(100);
  ASSERT_TRUE(notes.through);
  EXPECT_EQ(notes.through->function, "");
  EXPECT_EQ(notes.through->module, "_umath.so");
  EXPECT_EQ(notes.called_by->function, "volumes");
}

TEST_F(RowNotesOfARow, OfADifferenceGoByItsSize) {
  EXPECT_TRUE(sums({-60, 10}).notes(-50).through);
  EXPECT_EQ(sums({-60, 10}).notes(-50).called_by->function, "prices");
}

TEST_F(RowNotesOfARow, OfNothingAreNone) {
  const RowNotes notes = sums({0, 0, 5}).notes(5);
  EXPECT_FALSE(notes.through || notes.called_by);
  EXPECT_FALSE(NoteSums().notes(0).through);
}

TEST_F(RowNotesOfARow, AddUp) {
  NoteSums both = sums({30, 0});
  EXPECT_FALSE(both.notes(100).through);
  both.add(sums({20, 49}));
  EXPECT_EQ(both.notes(100).through->function, "array_empty");
  EXPECT_EQ(both.notes(100).called_by->line, 4);
}

}  // namespace
}  // namespace memprof::profile
