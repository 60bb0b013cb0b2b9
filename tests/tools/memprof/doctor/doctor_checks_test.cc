// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_checks.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

Checks one_of_each() {
  Checks checks;
  checks.yes("library", "is there");
  checks.note("names", "are few", "strip less");
  checks.no("program", "is static", "link it otherwise");
  return checks;
}

TEST(DoctorChecks, OneLineACheckAndWhatToDoBelow) {
  EXPECT_EQ(one_of_each().text(0, false),
            "yes   library       is there\n"
            "note  names         are few\n"
            "                    -> strip less\n"
            "no    program       is static\n"
            "                    -> link it otherwise\n"
            "\n"
            "1 problem stops memprof; 1 note\n");
}

TEST(DoctorChecks, TheSumSaysWhetherAnythingStops) {
  Checks checks;
  checks.yes("library", "is there");
  EXPECT_EQ(checks.text(0, false), "yes   library       is there\n\nmemprof works here\n");
  checks.note("a", "b", "");
  checks.note("a", "b", "");
  EXPECT_EQ(checks.count(Verdict::kNote), 2u);
  EXPECT_NE(checks.text(0, false).find("\nmemprof works here; 2 notes\n"), std::string::npos);
  checks.no("a", "b", "");
  checks.no("a", "b", "");
  EXPECT_EQ(checks.count(Verdict::kNo), 2u);
  EXPECT_NE(checks.text(0, false).find("\n2 problems stop memprof; 2 notes\n"), std::string::npos);
}

TEST(DoctorChecks, ColorsOnlyTheVerdict) {
  const std::string text = one_of_each().text(0, true);
  EXPECT_EQ(text.find("\033[32myes   \033[0mlibrary       is there\n"), 0u);
  EXPECT_NE(text.find("\033[33mnote  \033[0m"), std::string::npos);
  EXPECT_NE(text.find("\033[31mno    \033[0m"), std::string::npos);
  EXPECT_EQ(one_of_each().text(0, false).find('\033'), std::string::npos);
}

TEST(DoctorChecks, LinesFitTheTerminal) {
  Checks checks;
  checks.note("names", "one two three four five six seven eight nine ten",
              "do this and that and something else, too");
  EXPECT_EQ(checks.text(50, false),
            "note  names         one two three four five six\n"
            "                    seven eight nine ten\n"
            "                    -> do this and that and\n"
            "                    something else, too\n"
            "\n"
            "memprof works here; 1 note\n");
  // A word that does not fit stays whole.
  Checks path;
  path.yes("library", "/a/very/long/path/that/has/no/space/in/it is there");
  EXPECT_NE(path.text(30, false).find("/a/very/long/path/that/has/no/space/in/it\n"), std::string::npos);
}

TEST(DoctorChecks, NamesDoNotSteerTheTerminal) {
  Checks checks;
  checks.yes("program", "a\033[31mb\n");
  EXPECT_EQ(checks.text(0, false), "yes   program       a?[31mb?\n\nmemprof works here\n");
}

}  // namespace
}  // namespace memprof::cli
