// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/flame_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "profile/model/metric.h"
#include "tests/profile/report_fixture.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::HasSubstr;
using ::testing::Not;

struct Box {
  std::string says;  // its title
  double x = 0, y = 0, width = 0;
};

std::vector<Box> boxes_of(const std::string& svg) {
  const std::regex pattern(
      "<g class=\"box\"><title>([^<]*)</title><rect class=\"box\" x=\"([0-9.]+)\" y=\"([0-9.]+)\" "
      "width=\"([0-9.]+)\"");
  std::vector<Box> boxes;
  for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at) {
    boxes.push_back({(*at)[1], std::stod((*at)[2]), std::stod((*at)[3]), std::stod((*at)[4])});
  }
  return boxes;
}

const Box* box(const std::vector<Box>& boxes, const std::string& name) {
  for (const Box& one : boxes) {
    if (one.says.compare(0, name.size() + 1, name + "\n") == 0) return &one;
  }
  return nullptr;
}

std::string drawn(const Profile& profile, Metric metric = Metric::kInuseSpace) {
  FlameOptions options;
  options.name = "p.pb.gz";
  options.metric = metric;
  return write_flame_svg(profile, options);
}

TEST(FlameSvg, BoxesAreAsWideAsWhatTheyHoldAndLieUnderTheirCaller) {
  Builder b;
  const uint32_t f = b.at("f");
  const uint32_t g = b.at("g");
  const uint32_t main = b.at("main");
  b.stack({f, main}, 300, 1).stack({g, main}, 500, 1).stack({main}, 200, 1);
  const std::vector<Box> boxes = boxes_of(drawn(b.profile()));
  ASSERT_EQ(boxes.size(), 3u);
  const Box *of_main = box(boxes, "main"), *of_f = box(boxes, "f"), *of_g = box(boxes, "g");
  ASSERT_TRUE(of_main != nullptr && of_f != nullptr && of_g != nullptr);
  EXPECT_NEAR(of_main->width, 1180, 0.1);
  EXPECT_NEAR(of_g->width, 590, 0.1);
  EXPECT_NEAR(of_f->width, 354, 0.1);
  EXPECT_EQ(of_g->x, of_main->x);  // the heaviest first
  EXPECT_NEAR(of_f->x, of_g->x + of_g->width, 0.1);
  EXPECT_GT(of_f->y, of_main->y);
  EXPECT_THAT(of_main->says, HasSubstr("1000 B, 100.0 %\nitself: 200 B"));
}

TEST(FlameSvg, TitlesHaveTheInterval) {
  const std::string svg = drawn(named_profile());
  const std::vector<Box> boxes = boxes_of(svg);
  ASSERT_NE(box(boxes, "inner"), nullptr);
  EXPECT_THAT(box(boxes, "inner")->says, HasSubstr("/src/make.h\n4.0 MiB (95 %: "));
  EXPECT_THAT(svg, HasSubstr("server, 7.0 MiB (95 %: "));
  EXPECT_THAT(svg, HasSubstr("one sample each 512 KiB"));
}

TEST(FlameSvg, AFunctionThatCallsItselfIsOneBox) {
  Builder b;
  const uint32_t f = b.at("f");
  const uint32_t main = b.at("main");
  b.stack({f, f, f, main}, 1, 1);
  EXPECT_EQ(boxes_of(drawn(b.profile())).size(), 2u);
}

TEST(FlameSvg, WhatIsTooNarrowToSeeIsLeftOutAndSaid) {
  Builder b;
  const uint32_t main = b.at("main");
  b.stack({b.at("large"), main}, 1000000, 1);
  for (int i = 0; i < 5; ++i) b.stack({b.at("small" + std::to_string(i)), main}, 100, 1);
  const std::string svg = drawn(b.profile());
  EXPECT_EQ(boxes_of(svg).size(), 2u);
  EXPECT_THAT(svg, HasSubstr("5 branches too narrow to see are left out: 0.05 % of the whole."));
}

// As many boxes as there may be, with the longest names and the deepest stack: the file stays small.
TEST(FlameSvg, ItsSizeIsBounded) {
  Builder b;
  const std::string name(10000, 'n');
  for (int i = 0; i < 15; ++i) {
    Stack stack;
    stack.has_statistics = true;
    for (int k = 0; k < 450; ++k) stack.locations.push_back(b.at(std::to_string(i * 450 + k) + name));
    stack.live.push_back({100, 0, 1});
    b.profile().stacks.push_back(stack);
  }
  const std::string svg = drawn(b.profile());
  size_t boxes = 0;
  for (size_t at = 0; (at = svg.find("<g class=\"box\"", at)) != std::string::npos; ++at) ++boxes;
  EXPECT_EQ(boxes, 6000u);
  EXPECT_LT(svg.size(), size_t{8} << 20);
  EXPECT_THAT(svg, HasSubstr("left out"));
}

TEST(FlameSvg, NamesAreTextWhateverTheyAreMadeOf) {
  Builder b;
  const std::string names[] = {"<script>alert(1)</script>",
                               "a\"b'c&d",
                               "x\u202ey\u2066z",
                               std::string("nul\0end", 7),
                               "\xff\xfe\x80",
                               "\xef\xbf\xbf\xef\xbf\xbe",
                               "]]>",
                               "line\nbreak\x1b[1m"};
  for (const std::string& name : names) b.stack({b.at(name), b.at("main")}, 100, 1);
  b.profile().program = names[0];
  FlameOptions options;
  options.name = names[0] + "\x01";
  const std::string svg = write_flame_svg(b.profile(), options);
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  for (const char* bad : {"\u202e", "\u2066", "\xff", "\xef\xbf\xbf", "\xef\xbf\xbe", "\x1b", "\x01"}) {
    EXPECT_THAT(svg, Not(HasSubstr(bad)));
  }
  EXPECT_EQ(svg.find('\0'), std::string::npos);
  EXPECT_EQ(boxes_of(svg).size(), 9u);  // with main
}

TEST(FlameSvg, NothingIsAPictureThatSaysSo) {
  EXPECT_THAT(drawn(Profile()), HasSubstr("Nothing to draw: p.pb.gz has no inuse_space."));
}

// A difference that another program made: 600 more, 400 less.
TEST(FlameSvg, WhatShrankHasASignAndIsAsWideAsItsSize) {
  Builder b;
  const uint32_t main = b.at("main");
  b.stack({b.at("grew"), main}, 0, 0).stack({b.at("shrank"), main}, 0, 0);
  Profile& profile = b.profile();
  profile.from_memprof = false;
  for (Stack& stack : profile.stacks) {
    stack.has_statistics = false;
    const double value = &stack == &profile.stacks[0] ? 600 : -400;
    stack.values = {value, value, value, value};
  }
  const std::string svg = drawn(profile);
  const std::vector<Box> boxes = boxes_of(svg);
  ASSERT_EQ(boxes.size(), 4u) << "main twice";
  const Box *grew = box(boxes, "grew"), *shrank = box(boxes, "shrank");
  ASSERT_TRUE(grew != nullptr && shrank != nullptr);
  EXPECT_NEAR(grew->width, 708, 0.1);
  EXPECT_NEAR(shrank->width, 472, 0.1);
  EXPECT_NEAR(shrank->x, grew->x + grew->width, 0.1);
  EXPECT_THAT(shrank->says, HasSubstr("\n\u2212400 B, \u221240.0 %\nitself: \u2212400 B"));
  EXPECT_THAT(grew->says, HasSubstr("\n600 B, 60.0 %"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#86d94f\"/><text x="));
  EXPECT_THAT(svg, HasSubstr(">\u2212shrank</text>"));
  EXPECT_THAT(svg, HasSubstr("200 B; 600 B more, and to the right 400 B less"));
  for (Stack& stack : profile.stacks) stack.values[metric_index(Metric::kInuseSpace)] = -1;
  EXPECT_THAT(drawn(profile), Not(HasSubstr("Nothing to draw"))) << "nothing grew";
}

}  // namespace
}  // namespace memprof::profile
