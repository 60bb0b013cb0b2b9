// SPDX-License-Identifier: Apache-2.0
#include "profile/names/frame_grouping.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "format/affixes.h"
#include "profile/names/runtime_name.h"
#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

std::string or_unknown(const std::string& text) {
  return text.empty() ? kUnknownGroup : text;
}

// What Python calls the code of a module outside of its functions.
constexpr char kModuleCode[] = "<module>";

// Symbols below which a process has its first thread.
bool begins_main(const std::string& symbol) {
  static constexpr const char* kSymbols[] = {
      "_start", "main", "__libc_start_main", "__libc_start_call_main", "_dl_start_user", "_dl_init"};
  const std::string name = symbol.substr(0, symbol.find('@'));
  return std::any_of(std::begin(kSymbols), std::end(kSymbols),
                     [&](const char* known) { return name == known; });
}

template <size_t count>
bool is_one_of(const std::string& file, const std::string_view (&known)[count]) {
  return std::any_of(std::begin(known), std::end(known),
                     [&](std::string_view one) { return ends_with(file, one) || file == one.substr(1); });
}

// Python's own files with the functions that begin every one of its threads.
bool begins_threads(const std::string& file) {
  static constexpr std::string_view kFiles[] = {"/threading.py", "/concurrent/futures/thread.py",
                                                "/multiprocessing/pool.py"};
  return is_one_of(file, kFiles);
}

// The same of processes that do not continue their parent.
bool begins_children(const std::string& file) {
  static constexpr std::string_view kFiles[] = {"/multiprocessing/spawn.py", "/multiprocessing/forkserver.py",
                                                "/multiprocessing/resource_tracker.py"};
  return is_one_of(file, kFiles);
}

}  // namespace

const char* group_by_name(GroupBy by) {
  static constexpr const char* kNames[] = {"function", "line", "file", "module", "heap", "process", "thread"};
  return kNames[static_cast<size_t>(by)];
}

std::optional<GroupBy> group_by_from_name(std::string_view name) {
  for (const GroupBy by : {GroupBy::kFunction, GroupBy::kLine, GroupBy::kFile, GroupBy::kModule,
                           GroupBy::kHeap, GroupBy::kProcess, GroupBy::kThread}) {
    if (name == group_by_name(by)) return by;
  }
  return std::nullopt;
}

std::vector<std::string> root_labels(const Stack& stack) {
  std::vector<std::string> labels;
  if (!stack.process.empty()) labels.push_back("[process " + stack.process + "]");
  if (!stack.heap.empty()) labels.push_back("[heap " + stack.heap + "]");
  return labels;
}

FrameView view_of_calls(FrameView view) {
  view.native = view.imports = true;
  return view;
}

FrameGrouping::FrameGrouping(const Profile& profile, GroupBy by, const FrameView& view)
    : profile_(profile),
      by_(by),
      view_(view),
      forwarders_(view.all          ? std::make_shared<const Forwarders>()
                  : view.forwarders ? view.forwarders
                                    : find_forwarders({&profile})),
      interpreter_(profile),
      allocators_(profile),
      at_location_(profile.locations.size()) {
  find_own_made_files();
}

// A program that no file has: its module is what a stack's first line is in.  But not the line by which multiprocessing
// begins its children.
void FrameGrouping::find_own_made_files() {
  const auto frame_at = [&](uint32_t location) {
    return location_frames(profile_, profile_.locations[location]).back();
  };
  std::vector<bool> is_known(profile_.locations.size(), false);
  std::vector<bool> begins(profile_.locations.size(), false);
  std::set<std::string> of_children;
  for (const Stack& stack : profile_.stacks) {
    const size_t end = interpreter_.executed_end(stack);
    if (end == 0) continue;
    const uint32_t location = stack.locations[end - 1];
    if (!is_known[location]) {
      is_known[location] = true;
      const Frame first = frame_at(location);
      begins[location] = first.name == kModuleCode && is_made_code(first);
      if (begins[location]) own_made_files_.insert(first.file);
    }
    if (!begins[location] || end < 2) continue;
    if (begins_children(frame_at(stack.locations[end - 2]).file)) of_children.insert(frame_at(location).file);
  }
  for (const std::string& file : of_children) own_made_files_.erase(file);
}

void FrameGrouping::frames_of(const Stack& stack, std::vector<GroupedFrame>* frames) {
  code_frames_of(stack, frames);
  if (is_by_code(by_)) return;
  const std::string& name = by_ == GroupBy::kHeap ? stack.heap : stack.process;
  const uint32_t group =
      by_ == GroupBy::kThread ? thread_of(stack) : made_up_group(name.empty() ? kDefaultHeap : name);
  for (GroupedFrame& frame : *frames) frame.group = group;
}

uint32_t FrameGrouping::thread_of(const Stack& stack) {
  if (is_cut(stack)) return made_up_group(kUnknownThread);
  const bool has_lines = interpreter_.executed_end(stack) != 0;
  for (size_t place = stack.locations.size(); place-- > 0;) {
    const bool is_interpreter = has_lines && interpreter_.is_interpreter(stack, place);
    const std::vector<KnownFrame>& frames = frames_at(stack.locations[place]);
    for (size_t i = frames.size(); i-- > 0;) {
      const KnownFunction& function = *frames[i].of;
      if (function.begins == Beginning::kMain) return made_up_group(kMainThread);
      if (is_interpreter || function.role != FrameRole::kOwn || function.begins == Beginning::kMachinery)
        continue;
      const auto [known, is_new] = group_index_.emplace(
          GroupKey(function.shown, function.file, 0, function.module), static_cast<uint32_t>(groups_.size()));
      if (is_new) groups_.push_back({function.shown, function.file, 0, function.module, ""});
      return known->second;
    }
  }
  return made_up_group(kUnknownThread);
}

bool FrameGrouping::is_folded(FrameRole role, bool is_leaf, bool is_under_python, bool is_called) const {
  switch (role) {
    case FrameRole::kOwn:
      return is_called && by_ != GroupBy::kModule && !view_.native && !view_.interpreter;
    case FrameRole::kGap:
      return false;
    case FrameRole::kAllocation:
    case FrameRole::kWrapper:
      return is_leaf;
    case FrameRole::kLibrary:
    case FrameRole::kImport:
      return true;
    case FrameRole::kNameless:  // its module has a name
      return is_under_python && by_ != GroupBy::kModule;
  }
  return false;
}

void FrameGrouping::code_frames_of(const Stack& stack, std::vector<GroupedFrame>* frames) {
  frames->clear();
  own_.clear();
  has_callee_ = false;
  callee_ = NativeCallee();
  own_line_ = nullptr;
  is_of_others_ = false;
  interpreter_.mark_called(stack, &is_called_);
  bool is_below_lines = true;
  const KnownFrame* innermost = nullptr;  // that is seen
  const KnownFrame* forwarder = nullptr;  // the outermost below it
  ImportScan imports;
  std::optional<GroupedFrame> outermost_allocation;
  const size_t python_end = interpreter_.executed_end(stack);
  const bool hides_interpreter = !view_.interpreter && !view_.all && python_end != 0;
  const size_t allocator_end = view_.all ? 0 : allocators_.of(stack);
  const bool has_places = by_ == GroupBy::kFunction || by_ == GroupBy::kLine || by_ == GroupBy::kFile;
  bool folds_start = has_places && !view_.all && !view_.interpreter && !view_.imports;
  bool is_start = false;
  for (size_t place = 0; place < stack.locations.size(); ++place) {
    const bool is_interpreter = python_end != 0 && interpreter_.is_interpreter(stack, place);
    // Lines of the program's own (sitecustomize) keep their rows, as in imports.
    folds_start = folds_start && !imports.is_over;
    if (folds_start && place >= python_end && interpreter_.starts_python(stack, place)) {
      own_.clear();
      fold_into(kStartingPython);
      is_start = true;
      folds_start = false;
      innermost = nullptr;
      continue;
    }
    if (is_start ? interpreter_.is_interpreter(stack, place) : hides_interpreter && is_interpreter) continue;
    for (const KnownFrame& known : frames_at(stack.locations[place])) {
      const FrameRole role = known.of->role;
      if (frames->empty() && role == FrameRole::kAllocation) {
        outermost_allocation = known.frame;
        continue;
      }
      // Who called what stands before a gap is not known.
      if (role == FrameRole::kGap && own_.empty()) own_ = *frames;
      frames->push_back(known.frame);
      if (place < allocator_end) continue;
      if (is_interpreter || !is_folded(role, own_.empty(), place < python_end, is_called_[place])) {
        if (own_.empty()) innermost = &known;
        own_.push_back(known.frame);
      } else if (is_below_lines && own_.empty()) {
        note_callee(known);
        if (known.of->is_forwarder) forwarder = &known;
      }
      is_below_lines = is_below_lines && !known.is_executed;
      look_for_import(known, &imports);
    }
  }
  const bool is_line = has_places && !view_.all && innermost != nullptr && innermost->is_executed;
  if (!is_line) {
    has_callee_ = has_places && !view_.all && innermost != nullptr && forwarder != nullptr;
    if (has_callee_) callee_ = callee_of(*forwarder);
  }
  const bool has_import = is_line && imports.first && !view_.imports;
  is_of_others_ = has_import || (is_line && (!innermost->of->package.empty() || innermost->of->is_made));
  if (has_import) fold_import(imports);
  if (!view_.all && !own_.empty()) frames->swap(own_);
  if (!frames->empty()) return;
  if (!outermost_allocation) {
    Frame nowhere;
    nowhere.name = view_.hidden && !stack.locations.empty() ? kHiddenGroup : kUnknownGroup;
    outermost_allocation = known_frame(nowhere).frame;
  }
  frames->push_back(*outermost_allocation);
}

// The innermost that has a name, else the innermost.
void FrameGrouping::note_callee(const KnownFrame& frame) {
  const bool is_named = frame.of->role == FrameRole::kOwn;
  if (frame.is_executed || !callee_.function.empty()) return;
  if (!is_named && (frame.of->role != FrameRole::kNameless || has_callee_)) return;
  has_callee_ = true;
  callee_ = callee_of(frame);
  if (!is_named) callee_.function.clear();
}

NativeCallee FrameGrouping::callee_of(const KnownFrame& frame) const {
  return {frame.of->shown, shown_module(location_module(profile_, profile_.locations[frame.frame.location]))};
}

std::optional<OwnLine> FrameGrouping::own_caller() const {
  if (!is_of_others_ || own_line_ == nullptr) return std::nullopt;
  return OwnLine{own_line_->of->shown, own_line_->of->file, own_line_->frame.line};
}

void FrameGrouping::look_for_import(const KnownFrame& frame, ImportScan* scan) {
  if (scan->is_over) return;
  if (frame.of->role == FrameRole::kGap || frame.of->python == PythonCode::kOwn) {
    if (frame.of->python == PythonCode::kOwn && own_line_ == nullptr) own_line_ = &frame;
    scan->is_over = true;
  } else if (frame.of->python == PythonCode::kInstalledModule) {
    scan->module = own_.size() - 1;
    scan->module_package = &frame.of->package;
  } else if (frame.is_executed) {
    if (frame.of->python == PythonCode::kMachinery && scan->module) {
      scan->first = scan->module;
      scan->package = scan->module_package;
      own_line_ = nullptr;  // that was within the import
    }
    if (frame.of->is_own_made && own_line_ == nullptr) own_line_ = &frame;
    scan->module.reset();
  }
}

void FrameGrouping::fold_import(const ImportScan& scan) {
  own_.erase(own_.begin(), own_.begin() + static_cast<std::ptrdiff_t>(scan.first.value_or(0)) + 1);
  fold_into(kImporting + *scan.package);
}

void FrameGrouping::fold_into(const std::string& name) {
  GroupedFrame folded;
  folded.group = made_up_group(name, runtime_module(profile_.runtimes));
  folded.function = function_named(name);
  own_.insert(own_.begin(), folded);
  has_callee_ = false;
}

const std::vector<FrameGrouping::KnownFrame>& FrameGrouping::frames_at(uint32_t location) {
  std::optional<std::vector<KnownFrame>>& known = at_location_[location];
  if (known) return *known;
  known.emplace();
  uint32_t inlined = 0;
  for (const Frame& frame : location_frames(profile_, profile_.locations[location])) {
    const uint32_t place = inlined++;
    if (view_.hidden && view_.hidden->has(frame)) continue;
    KnownFrame own = known_frame(frame);
    own.frame.location = location;
    own.frame.inlined = place;
    known->push_back(own);
  }
  return *known;
}

const FrameGrouping::KnownFunction& FrameGrouping::known_function(const Frame& frame) {
  const auto [known, is_new] = known_functions_.emplace(
      FunctionKey(frame.name, frame.symbol, frame.file, frame.module, frame.is_executed), KnownFunction());
  KnownFunction& function = known->second;
  if (!is_new) return function;
  function.index = function_named(frame.name);
  function.role = frame_role(frame);
  if ((function.role == FrameRole::kOwn || function.role == FrameRole::kNameless) &&
      forwarders_->has(frame)) {
    function.role = FrameRole::kWrapper;
    function.is_forwarder = true;
  }
  function.file = frame.file;
  function.module = shown_module(frame.module);
  function.begins = begins_main(frame.symbol)    ? Beginning::kMain
                    : begins_threads(frame.file) ? Beginning::kMachinery
                                                 : Beginning::kNone;
  if (has_known_package(frame)) {
    function.package = installed_package(frame);
    function.python = function.role == FrameRole::kImport ? PythonCode::kMachinery
                      : function.package.empty()          ? PythonCode::kOwn
                      : frame.name == kModuleCode         ? PythonCode::kInstalledModule
                                                          : PythonCode::kInstalled;
  }
  const bool is_own_file = is_typed_code(frame) || own_made_files_.count(frame.file) != 0;
  function.is_own_made = is_made_code(frame) && is_own_file;
  function.is_made = is_made_code(frame) && !is_own_file;
  function.shown = view_.full_names ? frame.name : shown_frame_name(frame);
  return function;
}

uint32_t FrameGrouping::function_named(const std::string& name) {
  const auto [place, is_new] = function_index_.emplace(name, static_cast<uint32_t>(functions_.size()));
  if (is_new) functions_.push_back(name);
  return place->second;
}

FrameGrouping::KnownFrame FrameGrouping::known_frame(const Frame& frame) {
  const KnownFunction& function = known_function(frame);
  KnownFrame known;
  known.frame.group = group_of(frame, function.shown);
  known.frame.function = function.index;
  known.frame.line = frame.line;
  known.of = &function;
  known.is_executed = frame.is_executed;
  return known;
}

uint32_t FrameGrouping::made_up_group(const std::string& name, const std::string& module) {
  const auto [place, is_new] =
      group_index_.emplace(GroupKey(name, "", 0, module), static_cast<uint32_t>(groups_.size()));
  if (is_new) groups_.push_back({name, "", 0, module, ""});
  return place->second;
}

bool FrameGrouping::is_import(const FrameGroup& group) {
  return group.file.empty() &&
         (group.name == kStartingPython || group.name.compare(0, sizeof kImporting - 1, kImporting) == 0);
}

uint32_t FrameGrouping::group_of(const Frame& frame, const std::string& shown) {
  GroupKey key;
  const std::string module = view_.full_names ? frame.module : shown_module(frame.module);
  switch (by_) {
    case GroupBy::kFunction:
      key = {shown, frame.file, 0, module};
      break;
    case GroupBy::kLine:
      key = {shown, frame.file, frame.line, module};
      break;
    case GroupBy::kFile:
      // Code without a source file is told apart by its module.
      key = frame.file.empty() ? GroupKey{or_unknown(module), "", 0, module}
                               : GroupKey{frame.file, frame.file, 0, ""};
      break;
    case GroupBy::kModule:
      key = {or_unknown(module), "", 0, module};
      break;
    case GroupBy::kHeap:  // the stack's, and not the frame's
    case GroupBy::kProcess:
    case GroupBy::kThread:
      return made_up_group(kDefaultHeap);
  }
  const auto [place, is_new] = group_index_.emplace(std::move(key), static_cast<uint32_t>(groups_.size()));
  if (is_new) {
    FrameGroup group;
    std::tie(group.name, group.file, group.line, group.module) = place->first;
    if (by_ == GroupBy::kFunction) group.line = frame.line;
    if (by_ == GroupBy::kFunction || by_ == GroupBy::kLine) group.build_id = frame.build_id;
    groups_.push_back(std::move(group));
  } else if (by_ == GroupBy::kFunction && groups_[place->second].line != frame.line) {
    groups_[place->second].line = 0;
  }
  return place->second;
}

}  // namespace memprof::profile
