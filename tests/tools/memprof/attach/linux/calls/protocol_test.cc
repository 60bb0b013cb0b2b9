// SPDX-License-Identifier: Apache-2.0
// The table of protocol.h over all interleavings: of the command, the thread, a kill of the command at each operation, any delay,
// signal handlers, system calls that are answered with errors, and the end of the process.
#include "memprof/attach/linux/calls/protocol.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/tools/memprof/attach/linux/calls/protocol_model.h"

namespace memprof::cli::protocol {
namespace {

using testing_tools::Model;
using testing_tools::Place;
using testing_tools::World;

TEST(Protocol, NoInterleavingHarmsTheThread) {
  Model model;
  EXPECT_EQ(model.explore(), "");
  EXPECT_GT(model.count(), 1000u);
  for (const Rule& rule : kRules) {
    EXPECT_TRUE(model.has_used(rule)) << static_cast<int>(rule.phase) << ' ' << static_cast<int>(rule.seen);
  }
  const auto ends = [](bool is_alive, Phase phase, Action action) {
    return [=](const World& world) {
      return world.place == Place::kProgram && world.is_alive == is_alive && world.phase == phase &&
             world.action == action;
    };
  };
  EXPECT_TRUE(model.reaches(ends(true, Phase::kOver, Action::kPutBack)));
  EXPECT_TRUE(model.reaches(ends(true, Phase::kOver, Action::kTakeResults)));
  EXPECT_TRUE(model.reaches(ends(true, Phase::kOver, Action::kLeave)));
  EXPECT_TRUE(model.reaches(ends(false, Phase::kAsked, Action::kLook)));
}

// ---- the model sees what is wrong ----

// As it was before 0099: the word alone told that the thread waits to be put back.
TEST(Protocol, AWordAloneProvesNothing) {
  Model model;
  model.operations_of(Action::kLook) = {{Operation::kStop}};
  model.rules.push_back({Phase::kAsked, Seen::kWaits, Action::kUnmap, Phase::kUnmaps});
  EXPECT_NE(model.explore().find("not the command's thread: enter munmap"), std::string::npos);
}

TEST(Protocol, AnAnswerToAThreadThatRunsIsNone) {
  Model model;
  model.operations_of(Action::kLook) = {{Operation::kProve}};
  EXPECT_EQ(model.explore(), "");  // nothing is ever proven
  model.rules.push_back({Phase::kAsked, Seen::kWaits, Action::kAnswer, Phase::kCalls});
  Model answering;
  answering.rules = model.rules;
  answering.operations_of(Action::kLook) = {{Operation::kProve}};
  EXPECT_NE(answering.explore().find("not the command's thread: answer"), std::string::npos);
}

TEST(Protocol, AThreadThatHasLeftIsNotTaken) {
  for (const Seen seen : {Seen::kHasLeft, Seen::kInterrupted, Seen::kInCalls}) {
    Model model;
    model.rule(Phase::kAsked, seen) = {Phase::kAsked, seen, Action::kUnmap, Phase::kUnmaps};
    EXPECT_NE(model.explore().find("not the command's thread: enter munmap"), std::string::npos)
        << static_cast<int>(seen);
  }
}

TEST(Protocol, ASignalHandlerBehindTheCallIsNotOverwritten) {
  Model model;
  model.operations_of(Action::kToEnd) = {{Operation::kStopAsEvent}};
  EXPECT_NE(model.explore().find("not the command's thread: put vectors"), std::string::npos);
}

TEST(Protocol, TheOrderOfAnActionIsWhatMakesItSafeToBeKilledIn) {
  Model blocks_first;
  blocks_first.operations_of(Action::kMap) = {
      {Operation::kBlockSignals, Operation::kEnterMap, Operation::kRunBehindCall}};
  EXPECT_EQ(blocks_first.explore(), "the program runs with our signal mask");
  Model registers_first;
  registers_first.operations_of(Action::kPutBack) = {
      {Operation::kPutRegisters, Operation::kPutVectors, Operation::kPutMask, Operation::kLetGo}};
  EXPECT_NE(registers_first.explore(), "");
  Model enters_first;
  enters_first.operations_of(Action::kBegin) = {
      {Operation::kEnterStub, Operation::kWriteProgram, Operation::kLetRun, Operation::kReadWord}};
  EXPECT_EQ(enters_first.explore(), "the thread executes a program that is not there");
}

TEST(Protocol, AThreadThatIsNotLetGoIsSeen) {
  Model model;
  model.operations_of(Action::kPutBack) = {
      {Operation::kPutVectors, Operation::kPutMask, Operation::kPutRegisters}};
  EXPECT_EQ(model.explore(), "a thread that never comes back");
}

}  // namespace
}  // namespace memprof::cli::protocol
