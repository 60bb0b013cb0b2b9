// SPDX-License-Identifier: Apache-2.0
#include "profile/names/interpreter_frames.h"
#include "profile/model/process_names.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "format/affixes.h"
#include "format/pprof/pprof_schema.h"
#include "profile/names/frame_name.h"
#include "profile/names/frame_role.h"

namespace memprof::profile {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// python, python3, python3.11, python3.14t, libpython3.so, libpython3.12.so.1.0; not _pythonext.so.
bool is_python(std::string_view path) {
  std::string_view name = file_name(path);
  if (name.substr(0, 3) == "lib") name.remove_prefix(3);
  constexpr std::string_view kPython = "python";
  if (name.substr(0, kPython.size()) != kPython) return false;
  name.remove_prefix(kPython.size());
  return name.substr(0, name.find(".so")).find_first_not_of("0123456789.td") == std::string_view::npos;
}

// node, nodejs, libnode.so.108
bool is_node(std::string_view path) {
  const std::string_view name = file_name(path);
  return name == "node" || name == "nodejs" || name.substr(0, 10) == "libnode.so";
}

// Made of functions of the source, by mypyc, or by Cython of the program's own: not of a package that is installed, unless its
// .pyx file is known.
bool keeps_its_row(const Profile& profile, const Location& location) {
  const std::string& path = profile.mappings[location.mapping].path;
  const bool is_installed =
      path.find("/site-packages/") != std::string::npos || path.find("/dist-packages/") != std::string::npos;
  for (const Line& line : location.lines) {
    if (line.function >= profile.functions.size()) continue;
    const Function& function = profile.functions[line.function];
    if (is_mypyc_symbol(function.system_name)) return true;
    if (is_cython_symbol(function.system_name) && (!is_installed || ends_with(function.filename, ".pyx")))
      return true;
  }
  return false;
}

// What a function of CPython's interface does with the interpreter.  Of those that start it, one calls the other, or has it
// inlined; what runs a program starts it first, compiles the script, runs it, and ends the interpreter.
StartRole start_role(const Profile& profile, const Location& location) {
  for (const Line& line : location.lines) {
    if (line.function >= profile.functions.size()) continue;
    const std::string& symbol = profile.functions[line.function].system_name;
    if (symbol == "Py_InitializeFromConfig" || symbol == "Py_InitializeEx") return StartRole::kStarts;
    if (symbol == "Py_RunMain" || symbol == "Py_BytesMain" || symbol == "Py_Main") return StartRole::kRuns;
    if (symbol == "Py_FinalizeEx" || symbol == "_Py_Finalize") return StartRole::kEnds;
  }
  return StartRole::kNone;
}

// Of the interpreter's own modules that lie in its executable: importlib, zipimport, runpy.
bool is_frozen(const Profile& profile, const Location& location) {
  const Function* const function = executed_function(profile, location);
  return function != nullptr && begins_with(function->filename, "<frozen ");
}

// Stands for frames that were left out.
bool is_gap(const Profile& profile, const Location& location) {
  return location.lines.size() == 1 && location.lines[0].function < profile.functions.size() &&
         schema::is_gap_name(profile.functions[location.lines[0].function].system_name);
}

}  // namespace

const Function* runtime_function(const Profile& profile, const Location& location) {
  if (location.address != 0 || location.mapping != kNoMapping || location.lines.size() != 1 ||
      location.lines[0].function >= profile.functions.size() || is_gap(profile, location)) {
    return nullptr;
  }
  return &profile.functions[location.lines[0].function];
}

const Function* executed_function(const Profile& profile, const Location& location) {
  const Function* const function = runtime_function(profile, location);
  return function != nullptr && function->filename != kMadeCode ? function : nullptr;
}

bool is_cython_symbol(std::string_view symbol) {
  constexpr std::string_view kKinds[] = {"pw_", "pf_", "f_", "gb_"};  // wrapper, body, cdef, generator's body
  if (!begins_with(symbol, kCythonPrefix)) return false;
  symbol.remove_prefix(kCythonPrefix.size());
  return std::any_of(std::begin(kKinds), std::end(kKinds),
                     [&](std::string_view kind) { return begins_with(symbol, kind); });
}

bool is_mypyc_symbol(std::string_view symbol) {
  return begins_with(symbol, kMypycPrefix) && symbol.size() > kMypycPrefix.size();
}

bool is_interpreter_file(std::string_view path) {
  return is_python(path) || is_node(path);
}

InterpreterFrames::InterpreterFrames(const Profile& profile) : profile_(profile) {
  Modules interpreters;
  for (const Mapping& mapping : profile.mappings) {
    interpreters.push_back(is_interpreter_file(mapping.path));
    is_library_.push_back(is_language_library(file_name(mapping.path)));
  }
  kinds_.reserve(profile.locations.size());
  for (const Location& location : profile.locations) {
    const bool is_interpreter = location.mapping < interpreters.size() && interpreters[location.mapping];
    kinds_.push_back(executed_function(profile, location) != nullptr ? Kind::kExecuted
                     : is_interpreter                                ? Kind::kInterpreter
                     : location.mapping < profile.mappings.size() && keeps_its_row(profile, location)
                         ? Kind::kMade
                     : location.mapping != kNoMapping ? Kind::kNative
                     : location.lines.empty()         ? Kind::kNowhere
                     : is_gap(profile, location)      ? Kind::kGap
                                                      : Kind::kMade);
    starts_.push_back(location.mapping != kNoMapping ? start_role(profile, location)
                      : is_frozen(profile, location) ? StartRole::kFrozen
                                                     : StartRole::kNone);
  }
  for (const Stack& stack : profile.stacks) {
    if (const auto [known, is_new] = own_.try_emplace(stack.process); is_new) {
      known->second = modules_of_program(stack.process);
    }
  }
}

// `process` as in process_label(); empty: the profile's.
InterpreterFrames::Modules InterpreterFrames::modules_of_program(const std::string& process) const {
  std::string_view program = process.empty() ? std::string_view(profile_.program) : process;
  if (!process.empty()) program = program_of_label(process);
  if (program.empty() && !profile_.mappings.empty()) program = file_name(profile_.mappings[0].path);
  Modules own;
  if (program.empty() || is_interpreter_file(program)) return own;
  for (const Mapping& mapping : profile_.mappings) own.push_back(file_name(mapping.path) == program);
  return own;
}

void InterpreterFrames::mark_called(const Stack& stack, std::vector<bool>* is_called) const {
  is_called->assign(stack.locations.size(), false);
  const size_t outermost = executed_end(stack);
  if (outermost == 0) return;
  const auto known = own_.find(stack.process);
  Modules own = known != own_.end() ? known->second : modules_of_program(stack.process);
  for (size_t place = outermost; place < stack.locations.size() && !own.empty(); ++place) {
    const uint32_t location = stack.locations[place];
    const uint32_t mapping = profile_.locations[location].mapping;
    if (kinds_[location] == Kind::kNative && mapping < own.size() && !is_library_[mapping])
      own[mapping] = true;
  }
  bool is_below = false;
  for (size_t place = outermost; place-- > 0;) {
    const uint32_t location = stack.locations[place];
    const Kind kind = kinds_[location];
    if (kind == Kind::kExecuted) is_below = true;
    if (kind == Kind::kGap) is_below = false;  // who called what stands before it is not known
    if (kind != Kind::kNative) continue;
    const uint32_t mapping = profile_.locations[location].mapping;
    if (mapping < own.size() && own[mapping]) is_below = false;
    (*is_called)[place] = is_below;
  }
}

bool InterpreterFrames::is_interpreter(const Stack& stack, size_t place) const {
  const Kind kind = kinds_[stack.locations[place]];
  return kind == Kind::kInterpreter || (kind == Kind::kNowhere && place + 1 < stack.locations.size() &&
                                        kinds_[stack.locations[place + 1]] == Kind::kExecuted);
}

bool InterpreterFrames::starts_python(const Stack& stack, size_t place) const {
  const StartRole role = starts_[stack.locations[place]];
  if (role == StartRole::kStarts) return true;
  if (role != StartRole::kRuns) return false;
  for (size_t inner = place; inner-- > 0;) {
    const uint32_t location = stack.locations[inner];
    const Kind kind = kinds_[location];
    if (kind == Kind::kGap || starts_[location] == StartRole::kEnds) return false;
    if (kind == Kind::kExecuted && starts_[location] != StartRole::kFrozen) return false;
  }
  return true;
}

size_t InterpreterFrames::executed_end(const Stack& stack) const {
  size_t end = stack.locations.size();
  while (end > 0 && kinds_[stack.locations[end - 1]] != Kind::kExecuted) --end;
  return end;
}

}  // namespace memprof::profile
