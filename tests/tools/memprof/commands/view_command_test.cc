// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/view_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::memprof;

class ViewCommand : public ::testing::Test {
 protected:
  ViewCommand() : file_(folder_ / "p.pb.gz") {
    testing_tools::write_file(file_, profile::write_pprof(testing_tools::small_profile()));
  }
  testing_tools::Folder folder_;
  std::string file_;
};

// tests/e2e/page_test.py asks the server for its page.
TEST_F(ViewCommand, PrintsTheAddressAndEndsWithASignal) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const testing_tools::Folder folder;
    testing_tools::Process process(folder, {MEMPROF_PROGRAM, "view", file_, "--no-open"});
    EXPECT_TRUE(process.wait_for("http://127.0.0.1:"));
    kill(process.pid(), signal);
    const auto result = process.end();
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("Ctrl-C ends the view"));
  }
}

TEST_F(ViewCommand, WithoutADisplayPrintsTheAddress) {
  testing_tools::Process process(folder_, {MEMPROF_PROGRAM, "view", file_},
                                 {{"DISPLAY", ""}, {"WAYLAND_DISPLAY", ""}});
  EXPECT_TRUE(process.wait_for("http://127.0.0.1:"));
  kill(process.pid(), SIGINT);
  EXPECT_THAT(process.end().err, HasSubstr("open this address in a browser"));
}

TEST_F(ViewCommand, ErrorsAreOneLine) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"view", folder_ / "missing.pb.gz"}, "cannot read it: No such file"},
      {{"view", folder_.path()}, folder_.path()},
      {{"view", file_, "--port", "70000"}, "--port: '70000' is not a port"},
      {{"view", file_, "--port", "x"}, "--port"},
      {{"view", file_, "more"}, "more"},
      {{"view", file_, "--source-root", folder_ / "missing"}, "is not a folder"},
      {{"view", file_, "--source-root", "/", "--listen", "127.0.0.1"},
       "--source-root: no source text is served"},
      {{"view", file_, "--hide", "("}, "--hide: "},
      {{"view", file_, "--hide", ""}, "--hide: an empty expression"},
      {{"view", std::to_string(getpid()), "--sample-type", "space"}, "--sample-type: is for a pprof file"},
      {{"view", "999999999"}, "999999999"}};
  for (const auto& [arguments, text] : cases) {
    const auto result = memprof(arguments);
    EXPECT_EQ(result.status, 2) << text;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST_F(ViewCommand, SaysThatALargeFileTakesAWhile) {
  const std::string large = folder_ / "large.pb";
  std::ofstream(large) << "no profile";
  std::filesystem::resize_file(large, uintmax_t{17} << 20);
  const auto result = memprof({"view", large, "--no-open"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("reading " + large + ": 17.0 MiB, which takes a while"));
}

TEST_F(ViewCommand, HelpSaysWhatItDoes) {
  EXPECT_THAT(memprof({"view", "--help"}).out, HasSubstr("--no-open"));
  EXPECT_EQ(memprof({"view"}).status, 2);
}

}  // namespace
}  // namespace memprof::cli
