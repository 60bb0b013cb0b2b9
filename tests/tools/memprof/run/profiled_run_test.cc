// SPDX-License-Identifier: Apache-2.0
// What a run says and writes is tested with its command (run_command_test.cc).
#include "memprof/run/profiled_run.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "memprof/run/kept_signals.h"
#include "profile/pprof/pprof_reader.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using testing_tools::fixture;

class ProfiledRun : public ::testing::Test {
 protected:
  ProfiledRun() {
    options_.output = folder_ / "out.pb.gz";
    options_.quiet = true;
    options_.program_output = ProgramOutput::kStandardError;
  }

  testing_tools::Folder folder_;
  const testing_tools::FakeLibrary library_{folder_};
  RunOptions options_;
};

TEST_F(ProfiledRun, SaysHowItEndedAndWhereTheProfileIs) {
  for (const char* status : {"5", "0"}) {  // one run after the other
    const KeptSignals signals;
    options_.command = {fixture("program"), "exit", status};
    options_.force = true;
    testing::internal::CaptureStderr();
    const FinishedRun run = run_profiled(options_);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("wrote"), std::string::npos);
    EXPECT_EQ(std::to_string(run.status), status);
    EXPECT_TRUE(run.is_written);
    ASSERT_EQ(run.outputs.size(), 1u);
    EXPECT_EQ(profile::read_pprof_file(run.outputs[0].path).samples, 3u);
  }
}

TEST_F(ProfiledRun, TheProgramsOutputIsWhereItIsWanted) {
  const KeptSignals signals;
  options_.command = {"sh", "-c", "echo said"};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  run_profiled(options_);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("said\n"), std::string::npos);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST_F(ProfiledRun, AProgramThatIsNotThereIsAFailure) {
  const KeptSignals signals;
  options_.command = {"/nonexistent/program"};
  EXPECT_THROW(run_profiled(options_), Failure);
}

}  // namespace
}  // namespace memprof::cli
