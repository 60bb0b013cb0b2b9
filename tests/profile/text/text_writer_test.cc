// SPDX-License-Identifier: Apache-2.0
#include "profile/text/text_writer.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(TextWriter, SentencesBreakWhereTheTerminalEnds) {
  TextOptions options;
  options.width = 12;
  options.has_color = true;
  TextWriter writer(options);
  writer.sentence("one " + writer.bold("two") + " three four");
  writer.line("a line that is left as it is");
  EXPECT_EQ(writer.take(), "one \x1b[1mtwo\x1b[0m\n  three four\na line that is left as it is\n");
  writer.sentence("values (95 %: 3)");
  EXPECT_EQ(writer.take(), "values\n  (95 %: 3)\n");
}

TEST(TextWriter, WithoutATerminalNothingBreaks) {
  TextWriter writer({});
  writer.sentence(std::string(300, 'x') + " " + writer.faint("y"));
  EXPECT_EQ(writer.take(), std::string(300, 'x') + " y\n");
}

TEST(TextWriter, BlankLinesDoNotAddUp) {
  TextWriter writer({});
  writer.line("a");
  writer.blank();
  writer.blank();
  writer.line("b");
  EXPECT_EQ(writer.take(), "a\n\nb\n");
}

TEST(TextWriter, TonesAreReadBack) {
  TextOptions options;
  options.has_color = true;
  const TextWriter writer(options);
  const std::pair<Tone, std::string> written[] = {
      {Tone::kPlain, "a "},     {Tone::kStrong, "b"}, {Tone::kGrowth, "+1"}, {Tone::kPlain, " m "},
      {Tone::kShrinkage, "-1"}, {Tone::kFaint, "f"},  {Tone::kBar, "|||"}};
  std::string line;
  for (const auto& [tone, text] : written) line += writer.toned(tone, text);
  const std::vector<TonedText> parts = toned_parts(line);
  ASSERT_EQ(parts.size(), std::size(written));
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].tone, written[i].first);
    EXPECT_EQ(parts[i].text, written[i].second);
  }
  EXPECT_TRUE(toned_parts("").empty());
  EXPECT_EQ(toned_parts("half \x1b[3").size(), 1u) << "a sequence without its end is no text";
  EXPECT_EQ(change_tone(1), Tone::kGrowth);
  EXPECT_EQ(change_tone(-1), Tone::kShrinkage);
  EXPECT_EQ(change_tone(0), Tone::kPlain);
}

TEST(TextWriter, AsciiKeepsColumns) {
  TextOptions options;
  options.has_utf8 = false;
  TextWriter writer(options);
  writer.line("a…b é € \U0001F600.");
  EXPECT_EQ(writer.take(), "a~b ? ? ?.\n");
  EXPECT_STREQ(writer.signs().plus_minus, "+-");
  EXPECT_STREQ(TextWriter({}).signs().plus_minus, "±");
}

TEST(TextWriter, PrintableTextDoesNotSteerATerminal) {
  EXPECT_EQ(printable("plain é € \U0001F600"), "plain é € \U0001F600");
  EXPECT_EQ(printable("\x1b[2J\n\x7f"), "?[2J??");
  EXPECT_EQ(printable("\xc2\x9b[2J"),
            "?"
            "?[2J")
      << "CSI as one character";
  EXPECT_EQ(printable("\x9b[2J"), "?[2J") << "and as one byte";
  EXPECT_EQ(printable("\xe2\x80\xaex"), "???x") << "text that runs to the left";
  EXPECT_EQ(printable("\xd8\x9cx"), "??x") << "and a mark of Arabic text";
  EXPECT_EQ(printable("\xff\xc3"), "??") << "not UTF-8";
  EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"), "?????????") << "not UTF-8 either";
}

}  // namespace
}  // namespace memprof::profile
