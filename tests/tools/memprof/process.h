// SPDX-License-Identifier: Apache-2.0
// Runs programs for the tests, and folders for them to write in.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "profile/model/model.h"
#include "profile/pprof/pprof_writer.h"

namespace memprof::cli::testing_tools {

inline std::string read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::string& file, const std::string& data) {
  std::ofstream(file, std::ios::binary) << data;
}

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cli-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  // Names of what is in it, ordered, with a space behind each.
  std::string list() const {
    std::map<std::string, int> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names[entry.path().filename()];
    std::string all;
    for (const auto& [name, unused] : names) all += name + " ";
    return all;
  }

 private:
  std::string path_;
};

struct Result {
  int status = -1;  // as a shell has it
  std::string out;
  std::string err;
};

using Environment = std::map<std::string, std::string>;

// A program that runs, with its output in files of `folder`.
class Process {
 public:
  Process(const Folder& folder, const std::vector<std::string>& command, const Environment& environment = {},
          const std::string& working_folder = "")
      : out_(folder / ".out"), err_(folder / ".err") {
    pid_ = fork();
    if (pid_ != 0) return;
    redirect(out_, STDOUT_FILENO);
    redirect(err_, STDERR_FILENO);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    if (!working_folder.empty() && chdir(working_folder.c_str()) != 0) _exit(98);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(99);
  }

  pid_t pid() const { return pid_; }

  // Until its output has the text; false after ten seconds.
  bool wait_for(const std::string& text) const {
    for (int i = 0; i < 2000; ++i) {
      if (read_file(out_).find(text) != std::string::npos) return true;
      usleep(5000);
    }
    return false;
  }

  Result end() {
    int status = 0;
    waitpid(pid_, &status, 0);
    Result result;
    result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    result.out = read_file(out_);
    result.err = read_file(err_);
    return result;
  }

 private:
  static void redirect(const std::string& file, int fd) {
    const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(opened, fd);
    close(opened);
  }

  std::string out_;
  std::string err_;
  pid_t pid_;
};

inline Result run(const std::vector<std::string>& command, const Environment& environment = {},
                  const std::string& working_folder = "") {
  const Folder folder;
  return Process(folder, command, environment, working_folder).end();
}

// The built program.
inline Result memprof(std::vector<std::string> arguments, const Environment& environment = {},
                      const std::string& working_folder = "") {
  arguments.insert(arguments.begin(), MEMPROF_PROGRAM);
  return run(arguments, environment, working_folder);
}

inline std::string fixture(const std::string& name) {
  return std::string(MEMPROF_FIXTURES) + "/" + name;
}

// A profile of three live blocks of 100 bytes in main -> insert, at rate 0.
inline profile::Profile small_profile() {
  profile::Profile p;
  p.program = "server";
  p.pid = 4711;
  p.rate_bytes = 0;
  p.from_memprof = true;
  p.has_metric = {true, true, true, true};
  p.samples = p.live_samples = 3;
  p.walks[0] = 3;
  p.functions = {{"main", "main", "", 0}, {"insert(int)", "_Z6inserti", "", 0}};
  profile::Mapping mapping;
  mapping.start = 0x1000;
  mapping.limit = 0x2000;
  mapping.path = "/opt/server";
  p.mappings = {mapping};
  for (uint32_t i = 0; i < 2; ++i) {
    profile::Location location;
    location.address = 0x1100 + i;
    location.mapping = 0;
    location.lines = {{i, 0}};
    p.locations.push_back(location);
  }
  profile::Stack stack;
  stack.locations = {1, 0};
  stack.has_statistics = true;
  stack.live = {{100, 0, 3}};
  stack.allocated = {3, 300, 300, 3, 0, 0, 0, 0};
  stack.values = {3, 300, 3, 300};
  p.stacks = {stack};
  return p;
}

// While it lives, `memprof run` loads a library that writes the small profile, without compression.
class FakeLibrary {
 public:
  explicit FakeLibrary(const Folder& folder) {
    profile::PprofWriteOptions plain;
    plain.gzip = false;
    write_file(folder / "fake.pb", profile::write_pprof(small_profile(), plain));
    setenv("MEMPROF_LIBRARY", fixture("fake_library.so").c_str(), 1);
    setenv("FAKE_PROFILE", (folder / "fake.pb").c_str(), 1);
  }
  ~FakeLibrary() {
    unsetenv("MEMPROF_LIBRARY");
    unsetenv("FAKE_PROFILE");
  }
  FakeLibrary(const FakeLibrary&) = delete;
  FakeLibrary& operator=(const FakeLibrary&) = delete;
};

inline profile::Profile empty_profile(uint64_t rate_bytes) {
  profile::Profile p = small_profile();
  p.rate_bytes = rate_bytes;
  p.samples = p.live_samples = 0;
  p.walks = {};
  p.stacks.clear();
  return p;
}

}  // namespace memprof::cli::testing_tools
