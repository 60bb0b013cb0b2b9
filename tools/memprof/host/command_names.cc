// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/command_names.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace memprof::cli {
namespace {

// What their names begin with; a version may follow.
constexpr std::string_view kInterpreters[] = {"python", "pypy", "node", "nodejs", "bun",  "deno", "ruby",
                                              "perl",   "php",  "lua",  "sh",     "dash", "bash"};
constexpr std::string_view kWithValue[] = {
    "-W",       "-X",       "--check-hash-based-pycs", "-r",        "--require",
    "--import", "--loader", "--experimental-loader",   "--env-file"};
constexpr std::string_view kCode[] = {"-c",     "-e",      "-E", "-p",
                                      "--eval", "--print", "-"};  // there is no script
constexpr std::string_view kSuffixes[] = {".py", ".pyc", ".pyz", ".js",  ".mjs", ".cjs",
                                          ".ts", ".rb",  ".pl",  ".php", ".lua", ".sh"};

template <size_t N>
bool is_one_of(std::string_view text, const std::string_view (&all)[N]) {
  return std::find(std::begin(all), std::end(all), text) != std::end(all);
}

bool is_interpreter(std::string_view program) {
  const std::string_view name = program.substr(0, program.find_first_of("0123456789.-"));
  return is_one_of(name, kInterpreters);
}

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

void add(const std::string& name, std::vector<std::string>* names) {
  if (!name.empty() && std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

void add_script(const std::string& path, std::vector<std::string>* names) {
  const std::string file = last_part(path);
  add(file, names);
  const size_t dot = file.rfind('.');
  if (dot != std::string::npos && is_one_of(std::string_view(file).substr(dot), kSuffixes)) {
    add(file.substr(0, dot), names);
  }
}

// A package's main module, too, is called as the package is: `gunicorn` of `gunicorn.app.wsgiapp`.
void add_module(const std::string& module, std::vector<std::string>* names) {
  add(module, names);
  add(module.substr(0, module.find('.')), names);
}

void add_what_is_executed(const std::vector<std::string>& arguments, std::vector<std::string>* names) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (is_one_of(argument, kCode)) return;
    if (argument == "-m") {
      if (i + 1 < arguments.size()) add_module(arguments[i + 1], names);
      return;
    }
    if (is_one_of(argument, kWithValue)) {
      ++i;
    } else if (argument.empty() || argument[0] != '-') {
      return add_script(argument, names);
    }
  }
}

}  // namespace

std::vector<std::string> command_names(const std::string& program,
                                       const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  if (arguments.empty()) return names;
  const std::string& title = arguments[0];
  if (const size_t end = title.find(": "); end != std::string::npos) {
    add(last_part(title.substr(0, end)), &names);
    return names;
  }
  add(last_part(title), &names);
  if (is_interpreter(program)) add_what_is_executed(arguments, &names);
  return names;
}

}  // namespace memprof::cli
