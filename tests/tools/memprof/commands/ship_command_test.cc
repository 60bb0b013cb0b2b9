// SPDX-License-Identifier: Apache-2.0
// Real processes and servers: tests/e2e/ship_test.py.
#include "memprof/commands/ship_command.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "memprof/io/http/http.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

std::string ship_failure(const std::vector<std::string>& arguments) {
  try {
    ship_command(arguments);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), kBadInput);
    return failure.what();
  }
  return "";
}

TEST(ShipCommand, WrongUseIsNamed) {
  const testing_tools::Folder folder;
  const std::string out = folder.path();
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "no target given"},
      {{"--to", "host:4040"}, "is no target"},
      {{"--to", "otlp+http://"}, why_no_http().empty() ? "give otlp+http://HOST:PORT" : "no libcurl"},
      {{"--to", out + "/gone"}, "no such folder"},
      {{"--to", out, "--every", "1ms"}, "is not a time from 100ms to 1h"},
      {{"--to", out, "--every", "soon"}, "'soon'"},
      {{"--to", out, "--count", "x"}, "--count"},
      {{"--to", out, "--spool-age", "0s"}, "--spool-age"},
      {{"--to", out, "--spool-limit", "1k"}, "at least 1m"},
      {{"--to", out, "--spool", ""}, "--spool"},
      {{"--to", out, "--name-cache", "here"}, "--name-cache: 'here' is neither the absolute path"},
      {{"--to", out, "--label", "x"}, "NAME=VALUE"},
      {{"--to", out, "--label", "a=b", "--label", "a=c"}, "given twice"},
      {{"--to", out, "--label", "host=b"}, "given twice"},
      {{"--to", out, "--label-env", "x"}, "NAME=VARIABLE"},
      {{"--to", out, "--label-env", "a="}, "NAME=VARIABLE"},
      {{"--to", out, "--label", "a=b", "--label-env", "a=B"}, "given twice"},
      {{"--to", out, "--service", ""}, "empty"},
      {{"--to", out, "--host", std::string(201, 'x')}, "201 bytes"},
      {{"--to", out, "--token-file", "a", "--password-file", "b"}, "exclude each other"},
      {{"--to", out, "--metrics", out + "/gone/a.prom"}, "gone"},
      {{"--to", out, "0"}, "'0' is not a process id"},
      {{"--to", out, "--listen", "x"}, "--listen: 'x' has no port"},
      {{"--listen", ":4041"}, "has no address"},
      {{"--listen", "a.example:0"}, "is not an IP address"},
      {{"--listen", "0", "--every", "1s"}, "--every: nothing is sent without --to"},
      {{"--listen", "0", "--spool", out}, "--spool: nothing is sent without --to"},
      {{"--listen", "0", "--metrics", out + "/a.prom"}, "ask for /metrics"},
      {{"--no-such"}, "--no-such"},
  };
  for (const auto& [arguments, expected] : cases) {
    EXPECT_NE(ship_failure(arguments).find(expected), std::string::npos)
        << expected << ": " << ship_failure(arguments);
  }
  EXPECT_TRUE(std::filesystem::is_empty(out));
}

TEST(ShipCommand, HelpNamesTheTargets) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(ship_command({"--help"}), 0);
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_NE(help.find("http://HOST:PORT   Pyroscope"), std::string::npos);
  EXPECT_NE(help.find("otlp+http://HOST:PORT[/PATH]"), std::string::npos);
  EXPECT_NE(help.find("/FOLDER"), std::string::npos);
}

}  // namespace
}  // namespace memprof::cli
