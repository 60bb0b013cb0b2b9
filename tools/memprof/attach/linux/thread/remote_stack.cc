// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/remote_stack.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "memprof/attach/linux/thread/untabled_frames.h"

namespace memprof::cli {
namespace {

constexpr size_t kMaxFrames = 5000;
constexpr uint64_t kSigreturnBytes = 8;
constexpr uint64_t kEntryBytes = 128;  // the start code of C libraries has some 50

}  // namespace

struct RemoteStack::State {
  ~State() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }

  Dwfl* dwfl = nullptr;
  Places places;
  std::unique_ptr<UntabledFrames> untabled;  // of a process of musl
  std::map<uint64_t, std::string> files;     // by the start of the image
  std::vector<CodeRange> code;               // of all images
  // Of the walk that is under way:
  std::vector<Dwarf_Word> registers;  // by DWARF's numbers
  Dwarf_Word pc = 0;
  const TargetMemory* memory = nullptr;
  const std::vector<char>* stack = nullptr;
  uint64_t stack_begin = 0;
  size_t frames_before = 0;       // this part of the walk
  FrameRegisters untabled_frame;  // the last one that was added, if no table describes it
  pid_t thread = 0;
  bool can_walk = false;
  bool is_in_signal_frame = false;  // the last one that was added
  bool is_untabled = false;         // likewise
  bool is_executing = false;        // likewise
  bool is_caller = false;           // the first frame is one that was left by its code: `pc` is in its call
};

namespace {

using Files = std::map<uint64_t, std::string>;

int find_image(Dwfl_Module*, void** user_data, const char*, Dwarf_Addr start, char**, Elf** elf) {
  auto* files = static_cast<Files*>(*user_data);
  const auto found = files->find(start);
  if (found != files->end() && !found->second.empty()) {
    *elf = elf_memory(found->second.data(), found->second.size());
  }
  return -1;
}

int find_no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                       char**) {
  return -1;
}

constexpr Dwfl_Callbacks kImageCallbacks = {find_image, find_no_debug_file, nullptr, nullptr};

}  // namespace

namespace {

// libdwfl hands each callback what belongs to it.
template <typename State>
pid_t next_thread(Dwfl*, void* argument, void** at) {
  if (*at != nullptr) return 0;
  *at = argument;
  return static_cast<State*>(argument)->thread;
}

template <typename State>
bool get_thread(Dwfl*, pid_t, void* argument, void** thread) {
  *thread = argument;
  return true;
}

// A signed return address without its signature, which libdwfl takes for a part of it.
template <typename State>
Dwarf_Word without_signature(const State& state, Dwarf_Word word) {
  const uint64_t address = processor::return_address(word);
  const bool is_signed =
      address != word && std::any_of(state.code.begin(), state.code.end(), [&](const CodeRange& range) {
        return address >= range.start && address < range.end;
      });
  return is_signed ? address : word;
}

template <typename State>
bool read_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* argument) {
  const auto* state = static_cast<const State*>(argument);
  const uint64_t end = state->stack_begin + state->stack->size();
  if (address >= state->stack_begin && address < end && end - address >= sizeof(*result)) {
    memcpy(result, state->stack->data() + (address - state->stack_begin), sizeof(*result));
  } else if (!state->memory->read(address, result, sizeof(*result))) {
    return false;
  }
  *result = without_signature(*state, *result);
  return true;
}

template <typename State>
bool set_registers(Dwfl_Thread* thread, void* argument) {
  const auto* const state = static_cast<const State*>(argument);
  const std::vector<Dwarf_Word>& words = state->registers;
  dwfl_thread_state_register_pc(thread, state->pc);
  return dwfl_thread_state_registers(thread, 0, static_cast<unsigned>(words.size()), words.data());
}

template <typename State>
struct Adding {
  State* state;
  RemoteStack::Walk* walk;
};

// Where libdwfl would go by frame pointers, which need not be there.
bool has_table(Dwfl* dwfl, uint64_t address) {
  Dwfl_Module* const module = dwfl_addrmodule(dwfl, address);
  Dwarf_Addr bias = 0;
  Dwarf_CFI* const tables = module != nullptr ? dwfl_module_eh_cfi(module, &bias) : nullptr;
  Dwarf_Frame* frame = nullptr;
  const bool is_found = tables != nullptr && dwarf_cfi_addrframe(tables, address - bias, &frame) == 0;
  std::free(frame);
  return is_found;
}

constexpr unsigned kFramePointer = 6;  // of x86-64, as is all that is left by its code

template <typename State>
int add_frame(Dwfl_Frame* frame, void* argument) {
  const auto* adding = static_cast<const Adding<State>*>(argument);
  State& state = *adding->state;
  RemoteStack::Walk* walk = adding->walk;
  Dwarf_Addr address = 0;
  bool is_executing = false;
  if (!dwfl_frame_pc(frame, &address, &is_executing)) return DWARF_CB_ABORT;
  Dwarf_Word stack_pointer = 0;
  if (dwfl_frame_reg(frame, processor::dwarf_stack_pointer(), &stack_pointer) != 0) stack_pointer = 0;
  const bool is_call = !is_executing || (walk->frames.size() == state.frames_before && state.is_caller);
  walk->frames.push_back({is_executing ? address : address - 1, stack_pointer});
  if (state.untabled && !has_table(state.dwfl, walk->frames.back().address)) {
    Dwarf_Word frame_pointer = 0;
    if (dwfl_frame_reg(frame, kFramePointer, &frame_pointer) != 0) frame_pointer = 0;
    state.is_untabled = true;
    state.is_executing = !is_call;
    state.untabled_frame = {walk->frames.back().address + (is_call ? 1 : 0), stack_pointer, frame_pointer};
    return DWARF_CB_ABORT;
  }
  state.is_in_signal_frame = state.places.sigreturn_code != 0 &&
                             address - state.places.sigreturn_code < kSigreturnBytes &&
                             processor::registers_in_frame().words != 0;
  return walk->frames.size() < kMaxFrames && !state.is_in_signal_frame ? DWARF_CB_OK : DWARF_CB_ABORT;
}

int prepare_tables(Dwfl_Module* module, void**, const char*, Dwarf_Addr, void*) {
  Dwarf_Addr bias = 0;
  if (dwfl_module_getelf(module, &bias) != nullptr) dwfl_module_eh_cfi(module, &bias);
  return DWARF_CB_OK;
}

}  // namespace

namespace {

template <typename State>
void set(State& state, const processor::Registers& registers) {
  const std::vector<uint64_t> values = processor::dwarf_registers(registers);
  state.registers.assign(values.begin(), values.end());
  state.pc = processor::program_counter(registers);
}

bool follows_call(const TargetMemory& memory, uint64_t address) {
  unsigned char before[8];
  return memory.read(address - sizeof(before), before, sizeof(before)) && processor::ends_in_call(before);
}

// The walk goes on in the caller, if there is one: right behind a call.
template <typename State>
UntabledFrames::Left leave(State& state, FrameRegisters* frame, bool is_executing) {
  // What a signal handler returns to is no function, and does not return.
  const uint64_t sigreturn = state.places.sigreturn_code;
  const bool is_sigreturn = frame->pc - sigreturn <= kSigreturnBytes;
  if (is_sigreturn || (!is_executing && !follows_call(*state.memory, frame->pc))) {
    return UntabledFrames::Left::kUnknown;
  }
  const auto read = [&state](uint64_t address, uint64_t* word) {
    Dwarf_Word value = 0;
    const bool is_read = read_memory<State>(nullptr, address, &value, &state);
    *word = value;
    return is_read;
  };
  const UntabledFrames::Left left = state.untabled->leave(frame, read);
  if (left != UntabledFrames::Left::kToCaller) return left;
  if (!follows_call(*state.memory, frame->pc)) return UntabledFrames::Left::kUnknown;
  state.pc = frame->pc - 1;
  state.registers[kFramePointer] = frame->bp;
  state.registers[processor::dwarf_stack_pointer()] = frame->sp;
  state.is_caller = true;
  return left;
}

}  // namespace

RemoteStack::RemoteStack(uint64_t pid, const TargetMemory& memory, const std::vector<TargetImage>& images,
                         const Places& places)
    : state_(std::make_unique<State>()) {
  state_->places = places;
  if (places.musl != nullptr)
    state_->untabled = std::make_unique<UntabledFrames>(memory, images, *places.musl);
  static constexpr Dwfl_Thread_Callbacks kThreadCallbacks = {
      next_thread<State>, get_thread<State>, read_memory<State>, set_registers<State>, nullptr, nullptr};
  state_->dwfl = dwfl_begin(&kImageCallbacks);
  if (state_->dwfl == nullptr) return;
  dwfl_report_begin(state_->dwfl);
  for (const TargetImage& image : images) {
    state_->files[image.start] = read_unwind_image(memory, image);
    state_->code.insert(state_->code.end(), image.code.begin(), image.code.end());
    Dwfl_Module* module = dwfl_report_module(state_->dwfl, image.path.c_str(), image.start, image.end);
    void** user_data = nullptr;
    if (module == nullptr || dwfl_module_info(module, &user_data, nullptr, nullptr, nullptr, nullptr, nullptr,
                                              nullptr) == nullptr) {
      continue;
    }
    *user_data = &state_->files;
  }
  dwfl_report_end(state_->dwfl, nullptr, nullptr);
  dwfl_getmodules(state_->dwfl, prepare_tables, nullptr, 0);
  state_->can_walk =
      dwfl_attach_state(state_->dwfl, nullptr, static_cast<pid_t>(pid), &kThreadCallbacks, state_.get());
}

RemoteStack::~RemoteStack() = default;

bool RemoteStack::begins_stacks(uint64_t return_address) const {
  FrameRegisters registers{return_address, 0, 0};
  return state_->untabled && state_->untabled->leave(&registers, [](uint64_t, uint64_t*) { return false; }) ==
                                 UntabledFrames::Left::kIsRoot;
}

RemoteStack::Walk RemoteStack::walk(pid_t thread, const processor::Registers& registers,
                                    const TargetMemory& memory, const std::vector<char>& stack,
                                    uint64_t stack_begin) {
  Walk walk;
  if (!state_->can_walk) return walk;
  state_->thread = thread;
  state_->memory = &memory;
  state_->stack = &stack;
  state_->stack_begin = stack_begin;
  Adding<State> adding{state_.get(), &walk};
  processor::Registers at = registers;
  state_->is_caller = false;
  set(*state_, at);
  while (true) {
    state_->is_in_signal_frame = false;
    state_->is_untabled = false;
    state_->frames_before = walk.frames.size();
    walk.is_complete = dwfl_getthread_frames(state_->dwfl, thread, add_frame<State>, &adding) == 0;
    if (state_->is_untabled) {
      const UntabledFrames::Left left = leave(*state_, &state_->untabled_frame, state_->is_executing);
      walk.is_complete = left == UntabledFrames::Left::kIsRoot;
      if (left != UntabledFrames::Left::kToCaller || walk.frames.size() >= kMaxFrames) break;
      continue;
    }
    const auto [begin, words] = processor::registers_in_frame();
    if (!state_->is_in_signal_frame || walk.frames.size() >= kMaxFrames ||
        !memory.read(walk.frames.back().stack_pointer + begin, at.words.data(), words * sizeof(uint64_t))) {
      break;
    }
    set(*state_, at);
  }
  if (state_->untabled) return walk;
  // Nobody has called it, whether its tables say so or are missing.
  const uint64_t entry = state_->places.entry;
  walk.is_complete = walk.is_complete ||
                     (entry != 0 && !walk.frames.empty() && walk.frames.back().address - entry < kEntryBytes);
  return walk;
}

}  // namespace memprof::cli
