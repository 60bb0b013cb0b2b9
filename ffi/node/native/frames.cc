// SPDX-License-Identifier: Apache-2.0
#include "frames.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "library.h"

namespace memprof::node {
namespace {

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// Node's own scripts, V8's builtins, what continues async functions, and code that was there before the profiler could
// ask for its name.
bool is_of_node(const Frame& frame) {
  return begins(frame.file, "node:") || begins(frame.function, "Builtin:") ||
         (frame.function == "(async)" && frame.file.empty()) || frame.function == "[unknown JavaScript code]";
}

// What these allocate is their caller's.
bool is_allocator(const Frame& frame) {
  static constexpr std::string_view kNames[] = {"malloc",         "calloc",        "realloc",  "reallocarray",
                                                "posix_memalign", "aligned_alloc", "memalign", "valloc",
                                                "uv__malloc",     "uv__calloc"};
  for (const std::string_view name : kNames) {
    if (frame.function == name) {
      return true;
    }
  }
  return begins(frame.function, "operator new");
}

std::string demangled(std::string_view name) {
  std::string mangled(name);
  if (!begins(name, "_Z")) {
    return mangled;
  }
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) {
    return mangled;
  }
  std::string result = text;
  free(text);
  return result;
}

std::string hexadecimal(uint64_t value) {
  char text[24];
  snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

Frames::Frames(const memprof_snapshot* snapshot)
    : stacks_(library().memprof_snapshot_stacks(snapshot, nullptr)),
      addresses_(library().memprof_snapshot_frames(snapshot, nullptr)),
      frame_modules_(library().memprof_snapshot_frame_modules(snapshot, nullptr)),
      runtime_frames_(library().memprof_snapshot_runtime_frames(snapshot, nullptr)),
      modules_(library().memprof_snapshot_modules(snapshot, &module_count_)),
      symbols_(library().memprof_snapshot_symbols(snapshot, nullptr)),
      strings_(library().memprof_snapshot_strings(snapshot, nullptr)) {}

std::vector<uint32_t> Frames::stack(uint32_t stack_id) {
  const memprof_stack& stack = stacks_[stack_id];
  std::vector<uint32_t> result;
  result.reserve(stack.frame_count);
  for (uint64_t i = 0; i < stack.frame_count; ++i) {
    result.push_back(add(stack.first_frame + i));
  }
  return result;
}

// An address can be of two modules, one after the other: the high bits, which no address has, tell them apart.
uint32_t Frames::add(uint64_t position) {
  constexpr uint32_t kAddressBits = 48;
  const uint64_t address = addresses_[position];
  const uint64_t module = address & MEMPROF_RUNTIME_FRAME ? 0 : frame_modules_[position] + uint64_t{1};
  const uint64_t key = address ^ (module << kAddressBits);
  const auto known = by_address_.find(key);
  if (known != by_address_.end()) {
    return known->second;
  }
  const uint32_t index = intern(read(position));
  by_address_.emplace(key, index);
  return index;
}

uint32_t Frames::intern(Frame frame) {
  std::string key = frame.function;
  key += '\0';
  key += frame.file;
  key += '\0';
  key += std::to_string(frame.line) + (frame.is_javascript ? 'j' : 'n');
  const auto [at, is_new] = by_text_.emplace(std::move(key), static_cast<uint32_t>(frames_.size()));
  if (is_new) {
    frames_.push_back(std::move(frame));
  }
  return at->second;
}

Frame Frames::read(uint64_t position) const {
  const uint64_t address = addresses_[position];
  if ((address & MEMPROF_RUNTIME_FRAME) == 0) {
    return read_native(position);
  }
  const memprof_runtime_frame& frame = runtime_frames_[address & ~MEMPROF_RUNTIME_FRAME];
  return {std::string(text(frame.name_offset)), std::string(text(frame.file_offset)), frame.line,
          frame.runtime == MEMPROF_RUNTIME_V8};
}

Frame Frames::read_native(uint64_t position) const {
  const uint64_t address = addresses_[position];
  if (address == MEMPROF_FRAMES_LEFT_OUT) {
    return {"[frames left out]", "", 0, false};
  }
  if (address == MEMPROF_OLDER_STACKS) {
    return {"[older stacks]", "", 0, false};
  }
  Frame frame;
  const uint32_t module = frame_modules_[position];
  if (symbols_ != nullptr) {
    frame.function = demangled(text(symbols_[position].name_offset));
  }
  if (module >= module_count_) {
    frame.function = frame.function.empty() ? hexadecimal(address) : frame.function;
    return frame;
  }
  const memprof_module& of = modules_[module];
  frame.file = text(of.path_offset);
  if (frame.function.empty()) {
    // As the command says it: of the call, which is before the return address.
    frame.function = frame.file.substr(frame.file.rfind('/') + 1) + "+" +
                     hexadecimal(address - 1 - of.start + of.file_offset);
  }
  return frame;
}

bool Frames::is_own(uint32_t index) const {
  return frames_[index].is_javascript && !is_of_node(frames_[index]);
}

uint32_t Frames::place(uint32_t stack_id) {
  const auto known = places_.find(stack_id);
  if (known != places_.end()) {
    return known->second;
  }
  constexpr uint32_t kNone = UINT32_MAX;
  uint32_t of_node = kNone;
  uint32_t native = kNone;
  uint32_t chosen = kNone;
  const std::vector<uint32_t> indices = stack(stack_id);
  for (const uint32_t index : indices) {
    const Frame& frame = frames_[index];
    if (is_own(index)) {
      chosen = index;
      break;
    }
    uint32_t& candidate = frame.is_javascript ? of_node : native;
    if (candidate == kNone && (frame.is_javascript || !is_allocator(frame))) {
      candidate = index;
    }
  }
  if (chosen == kNone) {
    chosen = of_node != kNone ? of_node : native;
  }
  if (chosen == kNone) {
    chosen = indices.empty() ? intern({"[unknown]", "", 0, false}) : indices.front();
  }
  places_.emplace(stack_id, chosen);
  return chosen;
}

}  // namespace memprof::node
