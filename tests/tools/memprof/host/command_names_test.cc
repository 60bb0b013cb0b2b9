// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/command_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CommandNames, TheScriptOfAnInterpreterIsOne) {
  EXPECT_THAT(command_names("python3.12", {"/venv/bin/python3", "/venv/bin/gunicorn", "-w", "4", "app:app"}),
              ElementsAre("python3", "gunicorn"));
  EXPECT_THAT(command_names("node", {"node", "--require", "./hook.js", "dist/server.js", "other.js"}),
              ElementsAre("node", "server.js", "server"));
  EXPECT_THAT(command_names("bash", {"sh", "-x", "/opt/run.sh"}), ElementsAre("sh", "run.sh", "run"));
}

TEST(CommandNames, OptionsWithValuesAreNoScripts) {
  EXPECT_THAT(command_names("python3.12", {"python", "-X", "dev", "-W", "error", "-u", "app.py"}),
              ElementsAre("python", "app.py", "app"));
  EXPECT_THAT(command_names("python3.12", {"python", "-X", "dev"}), ElementsAre("python"));
}

TEST(CommandNames, AModuleIsCalledAsItsPackageIs) {
  EXPECT_THAT(command_names("python3.14t", {"python3", "-m", "uvicorn", "app:app"}),
              ElementsAre("python3", "uvicorn"));
  EXPECT_THAT(command_names("python3", {"python3", "-m", "gunicorn.app.wsgiapp"}),
              ElementsAre("python3", "gunicorn.app.wsgiapp", "gunicorn"));
  EXPECT_THAT(command_names("python3", {"python3", "-m"}), ElementsAre("python3"));
}

TEST(CommandNames, CodeOnTheCommandLineHasNoName) {
  EXPECT_THAT(command_names("python3", {"python3", "-c", "import gunicorn", "gunicorn"}),
              ElementsAre("python3"));
  EXPECT_THAT(command_names("python3", {"python3", "-"}), ElementsAre("python3"));
}

TEST(CommandNames, ATitleIsWhatStandsBeforeItsColon) {
  EXPECT_THAT(command_names("python3.12", {"gunicorn: worker [app:app]"}), ElementsAre("gunicorn"));
  EXPECT_THAT(command_names("postgres", {"postgres: background writer"}), ElementsAre("postgres"));
}

TEST(CommandNames, ArgumentsOfOtherProgramsAreNoNames) {
  EXPECT_THAT(command_names("vim.basic", {"vim", "gunicorn"}), ElementsAre("vim"));
  EXPECT_THAT(command_names("memprof", {"memprof", "run", "--", "gunicorn"}), ElementsAre("memprof"));
  EXPECT_THAT(command_names("pythonista", {"x", "gunicorn"}), ElementsAre("x"));
  EXPECT_THAT(command_names("kthreadd", {}), IsEmpty());
}

}  // namespace
}  // namespace memprof::cli
