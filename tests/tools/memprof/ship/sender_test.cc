// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/sender.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "memprof/ship/shipper.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

// Answers what it was told, then accepts.
struct Script {
  std::vector<Sent> answers;
  std::vector<uint64_t> taken;
  size_t calls = 0;
};

class ScriptedTarget : public ShipTarget {
 public:
  explicit ScriptedTarget(Script& script) : script_(script) {}
  std::string name() const override { return "scripted"; }
  Sent send(const Look& look, bool /*is_last*/) override {
    Sent sent;
    sent.end = Sent::End::kAccepted;
    if (script_.calls < script_.answers.size()) sent = script_.answers[script_.calls];
    ++script_.calls;
    if (sent.end == Sent::End::kAccepted) script_.taken.push_back(look.sequence);
    return sent;
  }

 private:
  Script& script_;
};

Sent answered(Sent::End end, bool may_be_there = false) {
  Sent sent;
  sent.end = end;
  sent.why = "it says no";
  sent.may_be_there = may_be_there;
  return sent;
}

class SenderTest : public testing::Test {
 protected:
  QueuedLook commit(int64_t bytes, int64_t time_ms = time_now_ms()) {
    Look look;
    look.time_ms = time_ms;
    look.labels = {{"service_name", "a"}};
    look.allocated = {1, bytes};
    look.pprof = "profile";
    return spool.commit("l", {}, std::move(look));
  }

  // Sends all of it, and ends.
  ShipCounts sent(const std::vector<QueuedLook>& looks, int64_t max_age_ms = 3'600'000) {
    Sender sender(std::make_unique<ScriptedTarget>(script), spool, 0, max_age_ms,
                  [this](uint64_t sequence) { done.push_back(sequence); });
    for (const QueuedLook& look : looks) {
      if (!sender.add(look)) ++known;
    }
    EXPECT_TRUE(sender.start());
    while (sender.waiting() != 0 && script.calls < 20) usleep(1000);
    sender.finish(0);
    return sender.counts();
  }

  testing_tools::Folder folder;
  Spool spool{folder / "s", 1 << 20};
  Script script;
  std::vector<uint64_t> done;
  size_t known = 0;
};

TEST_F(SenderTest, SendsInOrder) {
  const ShipCounts counts = sent({commit(10), commit(20), commit(30)});
  EXPECT_EQ(script.taken, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(done, script.taken);
  EXPECT_EQ(counts.accepted, 3U);
  EXPECT_EQ(counts.accepted_bytes, 60);
  EXPECT_EQ(counts.repeats, 0U);
}

TEST_F(SenderTest, TriesAgainAndCountsWhatMayBeThere) {
  script.answers = {answered(Sent::End::kLater), answered(Sent::End::kLater, true)};
  const ShipCounts counts = sent({commit(10)});
  EXPECT_EQ(counts.accepted, 1U);
  EXPECT_EQ(counts.retries, 2U);
  EXPECT_EQ(counts.repeats, 1U) << "the first attempt did not arrive";
}

TEST_F(SenderTest, WhatMayBeThereStaysSoWhenALaterAttemptDoesNotArrive) {
  script.answers = {answered(Sent::End::kLater, true), answered(Sent::End::kLater)};
  const ShipCounts counts = sent({commit(10)});
  EXPECT_EQ(counts.accepted, 1U);
  EXPECT_EQ(counts.repeats, 2U) << "the second and the third";
}

TEST_F(SenderTest, DropsWhatIsRefusedAndGoesOn) {
  script.answers = {answered(Sent::End::kRefused)};
  const ShipCounts counts = sent({commit(10), commit(20)});
  EXPECT_EQ(counts.refused, 1U);
  EXPECT_EQ(counts.refused_bytes, 10);
  EXPECT_EQ(counts.accepted_bytes, 20);
  EXPECT_EQ(done.size(), 2U);
}

TEST_F(SenderTest, WhatIsTakenInPartIsNotSentAgain) {
  Sent partly = answered(Sent::End::kPartly);
  partly.rejected_profiles = 2;
  Sent refused = answered(Sent::End::kRefused);
  refused.rejected_profiles = 4;
  Sent warned = answered(Sent::End::kAccepted);
  script.answers = {partly, refused, warned};
  const ShipCounts counts = sent({commit(10), commit(20), commit(30)});
  EXPECT_EQ(counts.partly, 1U);
  EXPECT_EQ(counts.partly_bytes, 10);
  EXPECT_EQ(counts.refused_bytes, 20);
  EXPECT_EQ(counts.rejected_profiles, 6U);
  EXPECT_EQ(counts.accepted_bytes, 30);
  EXPECT_EQ(script.calls, 3U);
}

TEST_F(SenderTest, DropsWhatIsTooOldWithoutSendingIt) {
  const ShipCounts counts = sent({commit(10, time_now_ms() - 7'200'000), commit(20)});
  EXPECT_EQ(counts.expired, 1U);
  EXPECT_EQ(counts.expired_bytes, 10);
  EXPECT_EQ(script.taken, (std::vector<uint64_t>{2}));
}

// A clock that was set back makes a look of the future, which is as old as it waits.
TEST_F(SenderTest, ALookOfTheFutureIsSent) {
  EXPECT_EQ(sent({commit(10, time_now_ms() + 7'200'000)}).accepted, 1U);
}

TEST_F(SenderTest, ALookThatIsGoneOrDamagedIsCounted) {
  const QueuedLook gone = commit(10);
  const QueuedLook damaged = commit(20);
  spool.remove(gone.sequence);
  testing_tools::write_file(folder / "s/looks/000000000000000002", "x");
  const ShipCounts counts = sent({gone, damaged, commit(30)});
  EXPECT_EQ(counts.damaged, 2U);
  EXPECT_EQ(counts.damaged_bytes, 30);
  EXPECT_EQ(counts.accepted_bytes, 30);
}

TEST_F(SenderTest, KnowsAfterARestartWhatTheTargetHas) {
  const QueuedLook first = commit(10);
  sent({first});
  const ShipCounts counts = sent({first, commit(20)});
  EXPECT_EQ(known, 1U);
  EXPECT_EQ(script.taken, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(counts.accepted, 2U);
}

TEST_F(SenderTest, EndsWhileATargetIsAway) {
  script.answers.assign(100, answered(Sent::End::kLater));
  Sender sender(std::make_unique<ScriptedTarget>(script), spool, 0, 3'600'000, [](uint64_t) {});
  EXPECT_TRUE(sender.add(commit(10)));
  ASSERT_TRUE(sender.start());
  sender.finish(0.05);
  EXPECT_EQ(sender.waiting(), 1U);
  EXPECT_FALSE(std::filesystem::is_empty(folder / "s/looks"));
}

}  // namespace
}  // namespace memprof::cli
