// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/browser.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using testing_tools::Folder;
using testing_tools::read_file;
using testing_tools::write_file;

// Calls it in a child with these variables alone.
bool opens(const std::string& path, const char* display, const std::string& url) {
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("WAYLAND_DISPLAY");
    unsetenv("DISPLAY");
    if (display != nullptr) setenv("DISPLAY", display, 1);
    setenv("PATH", path.c_str(), 1);
    _exit(open_in_browser(url) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Browser, GetsThePageAsOneWord) {
  const Folder folder;
  const std::string program = folder / "xdg-open";
  write_file(program, "#!/bin/sh\nprintf '%s|' \"$@\" >'" + (folder / "out.new") + "'\nmv '" +
                          (folder / "out.new") + "' '" + (folder / "out") + "'\n");
  chmod(program.c_str(), 0700);
  const std::string url = "http://127.0.0.1:1/a b$(touch " + (folder / "evil") + ")/";
  EXPECT_TRUE(opens(folder.path() + ":/usr/bin:/bin", ":0", url));
  for (int i = 0; i < 2000 && access((folder / "out").c_str(), F_OK) != 0; ++i) usleep(5000);
  EXPECT_EQ(read_file(folder / "out"), url + "|");
  EXPECT_NE(access((folder / "evil").c_str(), F_OK), 0);
}

TEST(Browser, IsNotOpenedWithoutADisplayOrXdgOpen) {
  const Folder folder;
  EXPECT_FALSE(opens("/usr/bin:/bin", nullptr, "http://127.0.0.1:1/"));
  EXPECT_FALSE(opens("/usr/bin:/bin", "", "http://127.0.0.1:1/"));
  const std::string shell = folder / "sh";
  symlink("/bin/sh", shell.c_str());
  EXPECT_FALSE(opens(folder.path(), ":0", "http://127.0.0.1:1/"));
}

}  // namespace
}  // namespace memprof::cli
