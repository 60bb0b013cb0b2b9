// SPDX-License-Identifier: Apache-2.0
#include "profile/model/process_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using testing::ElementsAre;

using Arguments = std::vector<std::string>;

std::vector<std::string> parts(const std::vector<Arguments>& all) {
  std::vector<CommandLine> processes;
  for (const Arguments& arguments : all) processes.push_back({"app", "app", arguments});
  return tell_apart(processes);
}

TEST(TellApart, ByTheFirstArgumentThatDiffers) {
  EXPECT_THAT(parts({{"app", "--no-sandbox", "--lang=en"}, {"app", "--type=zygote"}, {"app", "--type=gpu"}}),
              ElementsAre("--no-sandbox", "--type=zygote", "--type=gpu"));
  EXPECT_THAT(parts({{"app", "-q", "serve"}, {"app", "-q", "work"}}), ElementsAre("-q serve", "-q work"));
}

TEST(TellApart, NothingIsSaidWhereNothingDiffers) {
  EXPECT_THAT(parts({{"app", "--same"}, {"app", "--same"}}), ElementsAre("", ""));
  EXPECT_THAT(parts({{"app", "--one"}}), ElementsAre(""));
  EXPECT_THAT(parts({{"app"}, {"/usr/bin/app"}}), ElementsAre("", ""));
  EXPECT_THAT(parts({}), ElementsAre());
}

TEST(TellApart, AnOptionHasItsValue) {
  EXPECT_THAT(parts({{"python3", "main.py"}, {"python3", "-m", "worker"}, {"python3", "-m", "mail"}}),
              ElementsAre("main.py", "-m worker", "-m mail"));
  EXPECT_THAT(parts({{"app", "--name=a"}, {"app", "--name=b", "rest"}}), ElementsAre("--name=a", "--name=b"));
  EXPECT_THAT(parts({{"app", "-a", "-b"}, {"app", "-b", "-a"}}), ElementsAre("-a", "-b"));
}

TEST(TellApart, OfThoseWithTheSameTheNextOne) {
  EXPECT_THAT(parts({{"app", "--type=a"},
                     {"app", "--type=b", "--same", "--id=1"},
                     {"app", "--type=b", "--same", "--id=2", "--more=1"},
                     {"app", "--type=b", "--same", "--id=2", "--more=2"}}),
              ElementsAre("--type=a", "--type=b --id=1", "--type=b --id=2", "--type=b --id=2"));
  EXPECT_THAT(parts({{"app", "-m", "w", "-q", "a"}, {"app", "-m", "w", "-q", "b"}, {"app", "x"}}),
              ElementsAre("-m w -q a", "-m w -q b", "x"));
}

TEST(TellApart, ProcessesOfOtherProgramsDoNotCount) {
  EXPECT_THAT(tell_apart({{"a", "a", {"a", "1"}}, {"b", "b", {"b", "2"}}, {"a", "a", {"a", "1"}}}),
              ElementsAre("", "", ""));
  EXPECT_THAT(tell_apart({{"a", "a", {"a", "1"}}, {"b", "b", {"b", "2"}}, {"a", "a", {"a", "3"}}}),
              ElementsAre("1", "", "3"));
}

TEST(TellApart, ByTitle) {
  EXPECT_THAT(parts({{"nginx: master process nginx"}, {"nginx: worker process"}}),
              ElementsAre("nginx: master process nginx", "nginx: worker process"));
  // The server has arguments, and its workers wrote titles over theirs.
  EXPECT_THAT(parts({{"app", "--port=1"}, {"worker 1"}, {"worker 2"}}),
              ElementsAre("--port=1", "worker 1", "worker 2"));
  EXPECT_THAT(parts({{"app", "--port=1"}, {"worker 1"}}), ElementsAre("--port=1", "worker 1"));
  EXPECT_THAT(parts({{"/bin/ls"}, {"cat"}}), ElementsAre("ls", "cat"));
}

TEST(TellApart, ByTheSystemsName) {
  EXPECT_THAT(
      tell_apart({{"app", "main", {"app"}}, {"app", "flusher", {"app"}}, {"app", "flusher", {"app"}}}),
      ElementsAre("main", "flusher", "flusher"));
  EXPECT_THAT(tell_apart({{"python3.11", "python3", {"py"}}, {"python3.11", "flusher", {"py"}}}),
              ElementsAre("", "flusher"));
}

TEST(TellApart, OfWhatIsNotKnownNothing) {
  EXPECT_THAT(tell_apart({{"app", "", {}}, {"app", "app", {"app", "a"}}, {"app", "app", {"app", "b"}}}),
              ElementsAre("", "a", "b"));
}

TEST(TellApart, WhatIsLongIsShortened) {
  const std::string code = "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe=";
  EXPECT_THAT(parts({{"py", "-c", code + "7)"}, {"py", "-c", code + "12)"}}),
              ElementsAre("-c ...7)", "-c ...12)"));
  const std::string folder = "/usr/share/some/rather/long/folder/for/scripts/";
  EXPECT_THAT(parts({{"py", folder + "one.py"}, {"py", "two.py"}}), ElementsAre(".../one.py", "two.py"));
  EXPECT_THAT(parts({{"py", folder + "one.py"}, {"py", folder + "two.py"}}),
              ElementsAre("...one.py", "...two.py"));
  for (const std::string& part :
       parts({{"py", "-c", std::string(500, 'a')}, {"py", "-c", std::string(500, 'b')}}))
    EXPECT_LE(part.size(), 43) << part;
}

TEST(TellApart, LinesAreOneAndCharactersWhole) {
  EXPECT_THAT(parts({{"py", "-c", "import a\n\n  run()\n"}, {"py", "x"}}),
              ElementsAre("-c import a run()", "x"));
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xc3\xa4";
  for (const std::string& before : {std::string(), std::string("x")}) {
    const std::string part = parts({{"py", before + umlauts}, {"py", "y"}})[0];
    EXPECT_EQ((part.size() - before.size() - 3) % 2, 0) << part;
    EXPECT_EQ(part.substr(part.size() - 5), "\xc3\xa4...");
  }
}

TEST(CommandLine, IsReadFromItsText) {
  const CommandLine line = command_line_of("python3.11",
                                           "worker\x1fpython3\x1f-m\x1f"
                                           "a b\x1f\x1f\x1f");
  EXPECT_EQ(line.program, "python3.11");
  EXPECT_EQ(line.name, "worker");
  EXPECT_THAT(line.arguments, ElementsAre("python3", "-m", "a b"));
  EXPECT_THAT(command_line_of("a", "").arguments, ElementsAre());
  EXPECT_THAT(command_line_of("a", "a\x1f").arguments, ElementsAre());
  EXPECT_THAT(command_line_of("a",
                              "a\x1f"
                              "a\x1f\x1f"
                              "b")
                  .arguments,
              ElementsAre("a", "", "b"));
}

TEST(ProcessLabel, HasTheProgramFirst) {
  EXPECT_EQ(process_label("cc", 4711, ""), "cc 4711");
  EXPECT_EQ(process_label("cc", 4711, "-o x 12"), "cc 4711: -o x 12");
  EXPECT_EQ(process_label("", 4711, "", 2), "? 4711 #2");
  EXPECT_EQ(process_label("cc", 4711, "a", 2), "cc 4711 #2: a");
  for (const std::string program : {"cc", "Web Content", "a #2"}) {
    for (const std::string part : {"", "a", "-o x 12", "x: y #3 4"}) {
      for (const unsigned number : {1U, 2U}) {
        EXPECT_EQ(program_of_label(process_label(program, 4711, part, number)), program) << part << number;
      }
    }
  }
}

}  // namespace
}  // namespace memprof::profile
