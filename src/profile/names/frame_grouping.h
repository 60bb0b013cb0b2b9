// SPDX-License-Identifier: Apache-2.0
// Stacks as sequences of what a report has rows of: functions, lines, files, modules or heaps.
//
// Model: every inlined function is a frame of its own.  What is not the program's (frame_role.h) is left out,
// and what it allocates counts as its caller's: at the leaf allocation functions and known wrappers of them,
// anywhere the standard libraries of the languages and Python's import machinery; in stacks with Python
// frames also the interpreter's own functions, and native frames without a name under them.  A stack of
// nothing else keeps its frames, but for the allocation functions.
//
// Threads: one report's own.  Owns: the names; the profile must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/model/model.h"
#include "profile/names/frame_name.h"
#include "profile/names/frame_role.h"
#include "profile/names/interpreter_frames.h"

namespace memprof::profile {

enum class GroupBy : uint8_t { kFunction, kLine, kFile, kModule, kHeap, kProcess };

// "function", "line", "file", "module", "heap", "process"
const char* group_by_name(GroupBy by);
std::optional<GroupBy> group_by_from_name(std::string_view name);

// Which frames and names a reader wants to see.
struct FrameView {
  bool interpreter = false;  // its own functions among Python frames
  bool all = false;          // all frames but the allocation functions at the leaf
  bool full_names = false;   // as the profile has them; else as shown_name()
};

struct FrameGroup {
  std::string name;      // of what is grouped by; never empty
  std::string file;      // source file; empty: unknown
  int64_t line = 0;      // 0: unknown, or the group is of several lines
  std::string module;    // executable or library; empty: unknown, or the group is of several
  std::string build_id;  // of the module, where the name is a place in it; empty: unknown
};

inline constexpr uint32_t kNowhere = UINT32_MAX;

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
// The heap of malloc, and of what allocators report without a name.
inline constexpr char kDefaultHeap[] = "[default]";

// What a stack is of beside its code, its process and its heap, as frames at its root: where a tree or a
// flame graph has nothing else to show them by.
std::vector<std::string> root_labels(const Stack& stack);

class FrameGrouping {
 public:
  FrameGrouping(const Profile& profile, GroupBy by, const FrameView& view = {});

  // Leaf first; at least one.  By heap or process all of them have the stack's as their group.
  void frames_of(const Stack& stack, std::vector<GroupedFrame>* frames);

  // A group that is not code, by its name.
  uint32_t made_up_group(const std::string& name);

  const std::vector<FrameGroup>& groups() const { return groups_; }
  // Whole names, each once, whatever is grouped by.
  const std::vector<std::string>& functions() const { return functions_; }

 private:
  struct KnownFrame {
    GroupedFrame frame;
    FrameRole role = FrameRole::kOwn;
  };
  // What of a frame depends on its function alone.
  struct KnownFunction {
    uint32_t index = 0;  // into functions()
    std::string shown;   // its name
    FrameRole role = FrameRole::kOwn;
  };
  // Name, symbol, source file, module; whether a runtime executes it.
  using FunctionKey = std::tuple<std::string, std::string, std::string, std::string, bool>;
  using GroupKey = std::tuple<std::string, std::string, int64_t, std::string>;

  void code_frames_of(const Stack& stack, std::vector<GroupedFrame>* frames);
  bool is_folded(FrameRole role, bool is_leaf, bool is_under_python) const;
  const std::vector<KnownFrame>& frames_at(uint32_t location);
  const KnownFunction& known_function(const Frame& frame);
  KnownFrame known_frame(const Frame& frame);
  uint32_t group_of(const Frame& frame, const std::string& shown);

  const Profile& profile_;
  const GroupBy by_;
  const FrameView view_;
  const InterpreterFrames interpreter_;
  std::vector<std::vector<KnownFrame>> at_location_;  // innermost first
  std::map<GroupKey, uint32_t> group_index_;
  std::vector<FrameGroup> groups_;
  std::map<std::string, uint32_t, std::less<>> function_index_;
  std::vector<std::string> functions_;
  std::map<FunctionKey, KnownFunction> known_functions_;
  std::vector<GroupedFrame> own_;  // of the stack that is looked at
};

}  // namespace memprof::profile
