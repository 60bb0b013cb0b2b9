// SPDX-License-Identifier: Apache-2.0
#include "profile/names/interpreter_frames.h"

#include <string_view>

#include "format/pprof/pprof_schema.h"
#include "profile/names/frame_name.h"

namespace memprof::profile {
namespace {

// python, python3, python3.11, python3.14t, libpython3.so, libpython3.12.so.1.0; not _pythonext.so.
bool is_python(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (name.substr(0, 3) == "lib") name.remove_prefix(3);
  constexpr std::string_view kPython = "python";
  if (name.substr(0, kPython.size()) != kPython) return false;
  name.remove_prefix(kPython.size());
  return name.substr(0, name.find(".so")).find_first_not_of("0123456789.td") == std::string_view::npos;
}

// node, nodejs, libnode.so.108
bool is_node(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "node" || name == "nodejs" || name.substr(0, 10) == "libnode.so";
}

}  // namespace

const Function* runtime_function(const Profile& profile, const Location& location) {
  if (location.address != 0 || location.mapping != kNoMapping || location.lines.size() != 1 ||
      location.lines[0].function >= profile.functions.size()) {
    return nullptr;
  }
  const Function& function = profile.functions[location.lines[0].function];
  return schema::is_gap_name(function.system_name) ? nullptr : &function;
}

const Function* executed_function(const Profile& profile, const Location& location) {
  const Function* const function = runtime_function(profile, location);
  return function != nullptr && function->filename != kMadeCode ? function : nullptr;
}

InterpreterFrames::InterpreterFrames(const Profile& profile) {
  std::vector<bool> interpreters;
  for (const Mapping& mapping : profile.mappings) {
    interpreters.push_back(is_python(mapping.path) || is_node(mapping.path));
  }
  kinds_.reserve(profile.locations.size());
  for (const Location& location : profile.locations) {
    kinds_.push_back(executed_function(profile, location) != nullptr ? Kind::kExecuted
                     : location.mapping < interpreters.size() && interpreters[location.mapping]
                         ? Kind::kInterpreter
                     : location.mapping == kNoMapping && location.lines.empty() ? Kind::kNowhere
                                                                                : Kind::kNative);
  }
}

bool InterpreterFrames::is_interpreter(const Stack& stack, size_t place) const {
  const Kind kind = kinds_[stack.locations[place]];
  return kind == Kind::kInterpreter || (kind == Kind::kNowhere && place + 1 < stack.locations.size() &&
                                        kinds_[stack.locations[place + 1]] == Kind::kExecuted);
}

size_t InterpreterFrames::executed_end(const Stack& stack) const {
  size_t end = stack.locations.size();
  while (end > 0 && kinds_[stack.locations[end - 1]] != Kind::kExecuted) --end;
  return end;
}

}  // namespace memprof::profile
