// SPDX-License-Identifier: Apache-2.0
// The frames of a page: texts once, frames once, and sites, which are frames with what they are on their
// stack.
//
// Model: what of a stack a reader wants to see is decided in the page, by the same rules as in a report
// (frame_grouping.h).  What these rules ask of a frame and of its place is in the site: its role, and whether
// it is the interpreter's own.
//
// Threads: one builder's own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profile/model/model.h"
#include "profile/names/forwarders.h"
#include "profile/names/frame_name.h"
#include "profile/names/frame_role.h"
#include "profile/names/interpreter_frames.h"

namespace memprof::profile {

// Texts in the order in which they were first asked for; 0 is the empty one.
class PageTexts {
 public:
  PageTexts() { index_of(""); }
  uint32_t index_of(const std::string& text);
  const std::vector<const std::string*>& texts() const { return texts_; }

 private:
  std::map<std::string, uint32_t> index_;
  std::vector<const std::string*> texts_;  // keys of index_
};

// Columns of a frame: indices of texts, but for `line` and `flags`.
struct PageFrame {
  uint32_t name = 0;
  uint32_t shown = 0;         // as tables show it
  uint32_t symbol = 0;        // as in the symbol table
  uint32_t file = 0;          // source
  uint32_t module = 0;        // file name of the executable or library
  uint32_t shown_module = 0;  // as tables show it
  uint32_t path = 0;          // of the module
  uint32_t package = 0;       // that code of a runtime is installed with; the empty text: none, or not known
  int64_t line = 0;
  uint32_t flags = 0;

  auto key() const { return std::tie(name, shown, symbol, file, module, path, package, line, flags); }
  bool operator<(const PageFrame& other) const { return key() < other.key(); }
};

// Of PageFrame::flags.
inline constexpr uint32_t kNameIsAllocator = 1;    // an expression is not looked for in the name and the file
inline constexpr uint32_t kSymbolIsAllocator = 2;  // nor in the symbol
inline constexpr uint32_t kIsNamed = 4;            // `name` is a function's
inline constexpr uint32_t kIsExecuted = 8;         // by a runtime
inline constexpr uint32_t kPackageIsKnown = 16;    // `package` is it, or the code is the program's own

struct PageSite {
  uint32_t frame = 0;
  uint32_t role = 0;  // FrameRole or kCalledRole; and kIsInterpreter, kStartsInterpreter, kCallsStart

  bool operator<(const PageSite& other) const {
    return std::tie(frame, role) < std::tie(other.frame, other.role);
  }
};

// Of PageSite::role.
inline constexpr uint32_t kRoleMask = 7;
inline constexpr uint32_t kCalledRole =
    7;  // no FrameRole: native code with a name that a line of a runtime called
inline constexpr uint32_t kIsInterpreter = 8;
inline constexpr uint32_t kStartsInterpreter = 16;  // no line of a runtime called it
inline constexpr uint32_t kCallsStart = 32;         // of the interpreter, and called that

class PageFrames {
 public:
  PageTexts& texts() { return texts_; }
  const PageTexts& texts() const { return texts_; }
  const std::vector<PageFrame>& frames() const { return frames_; }
  const std::vector<PageSite>& sites() const { return sites_; }

 private:
  friend class ProfileFrames;
  uint32_t site_of(const PageSite& site);
  PageSite frame_of(const Frame& frame, const std::string& path, bool is_forwarder);

  // What of a frame depends on its function alone.
  struct Function {
    uint32_t shown = 0;
    uint32_t shown_module = 0;
    uint32_t package = 0;
    uint32_t flags = 0;
    uint32_t role = 0;
  };
  using FunctionKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;

  PageTexts texts_;
  std::map<FunctionKey, Function> function_index_;
  std::map<PageFrame, uint32_t> frame_index_;
  std::vector<PageFrame> frames_;
  std::map<PageSite, uint32_t> site_index_;
  std::vector<PageSite> sites_;
};

// Those of one profile, which must outlive it.
class ProfileFrames {
 public:
  ProfileFrames(const Profile& profile, PageFrames* frames);

  // Indices into sites(), root first; at least one.
  std::vector<uint32_t> root_first(const Stack& stack);

 private:
  const std::vector<PageSite>& at(uint32_t location);

  const Profile& profile_;
  PageFrames& frames_;
  const Forwarders forwarders_;
  const InterpreterFrames interpreter_;
  AllocatorEnds allocators_;
  std::vector<std::vector<PageSite>> at_location_;  // innermost first
  std::vector<bool> is_called_;                     // of the stack that is looked at
};

}  // namespace memprof::profile
