// SPDX-License-Identifier: Apache-2.0
// Stacks as sequences of what a report has rows of: functions, lines, files, modules or heaps.
//
// Model: every inlined function is a frame of its own.  What is not the program's (frame_role.h) is left out,
// and what it allocates counts as its caller's: at the leaf allocation functions and known wrappers of them,
// (those that no list names too: forwarders.h), anywhere the standard libraries of the languages and Python's import machinery; in stacks with Python
// frames also the interpreter's own functions, and native code under them (interpreter_frames.h), which is
// remembered as what the line allocated through.  What importing an installed package of Python takes is one frame,
// `importing numpy`; so is what the interpreter takes for its start, `starting Python`.  A stack of nothing else keeps its frames, but for the allocation functions.
//
// Threads: one report's own.  Owns: the names; the profile must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/model/model.h"
#include "profile/names/forwarders.h"
#include "profile/names/frame_name.h"
#include "profile/names/frame_role.h"
#include "profile/names/interpreter_frames.h"

namespace memprof::profile {

enum class GroupBy : uint8_t { kFunction, kLine, kFile, kModule, kHeap, kProcess, kThread };

// "function", "line", "file", "module", "heap", "process", "thread"
const char* group_by_name(GroupBy by);
std::optional<GroupBy> group_by_from_name(std::string_view name);

// Rows are of code, not of the whole stack's heap, process or thread.
inline bool is_by_code(GroupBy by) {
  return by != GroupBy::kHeap && by != GroupBy::kProcess && by != GroupBy::kThread;
}

// Rows have a source file and a line, or a module.
inline bool has_places(GroupBy by) {
  return by == GroupBy::kFunction || by == GroupBy::kLine || by == GroupBy::kThread;
}

// Frames that a reader does not want to see, whatever they are.
struct HiddenFrames {
  std::string text;  // the expression, as it was given
  std::function<bool(const Frame&)> has;
};

// Which frames and names a reader wants to see.
struct FrameView {
  bool interpreter = false;  // its own functions among Python frames
  bool all = false;          // all frames but the allocation functions at the leaf
  bool full_names = false;   // as the profile has them; else as shown_name()
  bool native = false;       // named native functions that Python lines call; so does `interpreter`
  bool imports = false;      // the lines of packages that are imported, and the interpreter's start
  // Wrappers of the allocator that no list names; nullptr: those of the profile.
  std::shared_ptr<const Forwarders> forwarders;
  std::shared_ptr<const HiddenFrames> hidden;  // nullptr: none
};

// As who shows calls wants to see them.
FrameView view_of_calls(FrameView view);

struct FrameGroup {
  std::string name;      // of what is grouped by; never empty
  std::string file;      // source file; empty: unknown
  int64_t line = 0;      // 0: unknown, or the group is of several lines
  std::string module;    // executable or library; empty: unknown, or the group is of several
  std::string build_id;  // of the module, where the name is a place in it; empty: unknown
};

inline constexpr uint32_t kNowhere = UINT32_MAX;

// Code that was left out and that its caller allocated through: native code that a line of a language's runtime called,
// or a wrapper that no list names.
struct NativeCallee {
  std::string function;  // empty: it has no name
  std::string module;    // executable or library; empty: unknown

  bool operator<(const NativeCallee& other) const {
    return std::tie(function, module) < std::tie(other.function, other.module);
  }
};

// The innermost line of the program's own on a stack that ends in code of an installed package of Python, or in code
// that was made at run time.
struct OwnLine {
  std::string function;
  std::string file;
  int64_t line = 0;

  bool operator<(const OwnLine& other) const {
    return std::tie(function, file, line) < std::tie(other.function, other.file, other.line);
  }
};

struct GroupedFrame {
  uint32_t group = 0;     // index into groups()
  uint32_t function = 0;  // index into functions()
  int64_t line = 0;       // 0: unknown
  // Where it stands: the location, and of the location's frames which, innermost first.  kNowhere: in none.
  uint32_t location = kNowhere;
  uint32_t inlined = 0;
};

// What a stack without one frame is called.
inline constexpr char kUnknownGroup[] = "[unknown]";
// What a stack is called of which all frames are hidden.
inline constexpr char kHiddenGroup[] = "[hidden]";
// The heap of malloc, and of what allocators report without a name.
inline constexpr char kDefaultHeap[] = "[default]";
// By thread, what has no function that it began with.
inline constexpr char kMainThread[] = "[main thread]";
inline constexpr char kUnknownThread[] = "[unknown thread]";
// Before the name of a package, what importing it took.
inline constexpr char kImporting[] = "importing ";
// What the interpreter takes before it runs the program: its types, its modules, `site`.
inline constexpr char kStartingPython[] = "starting Python";

// What a stack is of beside its code, its process and its heap, as frames at its root: where a tree or a
// flame graph has nothing else to show them by.
std::vector<std::string> root_labels(const Stack& stack);

class FrameGrouping {
 public:
  FrameGrouping(const Profile& profile, GroupBy by, const FrameView& view = {});

  // Leaf first; at least one.  By heap, process or thread all of them have the stack's as their group.
  void frames_of(const Stack& stack, std::vector<GroupedFrame>* frames);

  // Of the last stack: what it allocated through; nullptr: there is none.
  const NativeCallee* native_callee() const { return has_callee_ ? &callee_ : nullptr; }
  // The same of the program's own line that called the innermost frame, where that is of an installed package, or made.
  std::optional<OwnLine> own_caller() const;

  // A group that is not code, by its name.
  uint32_t made_up_group(const std::string& name, const std::string& module = "");
  // Is the group what importing a package took?
  static bool is_import(const FrameGroup& group);

  const std::vector<FrameGroup>& groups() const { return groups_; }
  // Whole names, each once, whatever is grouped by.
  const std::vector<std::string>& functions() const { return functions_; }
  const Forwarders& forwarders() const { return *forwarders_; }

 private:
  // Code of Python, as far as imports are concerned.
  enum class PythonCode : uint8_t { kNone, kOwn, kInstalled, kInstalledModule, kMachinery };
  // Of a function that threads begin with: the system's for the first one, a language's for all others.
  enum class Beginning : uint8_t { kNone, kMain, kMachinery };
  // What of a frame depends on its function alone.
  struct KnownFunction {
    uint32_t index = 0;  // into functions()
    std::string shown;   // its name
    FrameRole role = FrameRole::kOwn;
    PythonCode python = PythonCode::kNone;
    std::string package;  // that it is installed with
    std::string file;
    std::string module;  // as tables show it
    Beginning begins = Beginning::kNone;
    bool is_forwarder = false;
    bool is_made = false;      // at run time, by whoever
    bool is_own_made = false;  // the program's own, in no file: of python3 -c, of a prompt
  };
  struct KnownFrame {
    GroupedFrame frame;
    const KnownFunction* of = nullptr;
    bool is_executed = false;
  };
  // The outermost import of an installed package that no line of the program's own is below.
  struct ImportScan {
    bool is_over = false;          // a line of the program's own was met, or who called is not known
    std::optional<size_t> module;  // the place in own_ of the code of a module, if the last line is of one
    const std::string* module_package = nullptr;
    std::optional<size_t> first;  // the place in own_ of the first line of the package
    const std::string* package = nullptr;
  };
  // Name, symbol, source file, module; whether a runtime executes it.
  using FunctionKey = std::tuple<std::string, std::string, std::string, std::string, bool>;
  using GroupKey = std::tuple<std::string, std::string, int64_t, std::string>;

  // Of a profile that does not say which thread it was: the function that the thread began with.
  uint32_t thread_of(const Stack& stack);
  void find_own_made_files();
  void code_frames_of(const Stack& stack, std::vector<GroupedFrame>* frames);
  bool is_folded(FrameRole role, bool is_leaf, bool is_under_python, bool is_called) const;
  void note_callee(const KnownFrame& frame);
  NativeCallee callee_of(const KnownFrame& frame) const;
  void look_for_import(const KnownFrame& frame, ImportScan* scan);
  void fold_import(const ImportScan& scan);
  // Puts one group in front of what is outside of it.
  void fold_into(const std::string& name);
  const std::vector<KnownFrame>& frames_at(uint32_t location);
  const KnownFunction& known_function(const Frame& frame);
  uint32_t function_named(const std::string& name);
  KnownFrame known_frame(const Frame& frame);
  uint32_t group_of(const Frame& frame, const std::string& shown);

  const Profile& profile_;
  const GroupBy by_;
  const FrameView view_;
  const std::shared_ptr<const Forwarders> forwarders_;
  const InterpreterFrames interpreter_;
  AllocatorEnds allocators_;
  std::vector<std::optional<std::vector<KnownFrame>>> at_location_;  // innermost first, without hidden ones
  std::map<GroupKey, uint32_t> group_index_;
  std::vector<FrameGroup> groups_;
  std::map<std::string, uint32_t, std::less<>> function_index_;
  std::vector<std::string> functions_;
  std::map<FunctionKey, KnownFunction> known_functions_;
  std::set<std::string> own_made_files_;  // in angle brackets; stacks begin with their code
  // Of the stack that is looked at.
  std::vector<GroupedFrame> own_;
  std::vector<bool> is_called_;
  NativeCallee callee_;
  bool has_callee_ = false;
  const KnownFrame* own_line_ = nullptr;  // the innermost
  bool is_of_others_ = false;             // the innermost frame is of a package, or made
};

}  // namespace memprof::profile
