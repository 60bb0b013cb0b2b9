// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/late_hooks.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "memprof/attach/linux/processor/processor.h"
#include "memprof/attach/linux/thread/all_threads.h"
#include "memprof/attach/linux/thread/own_stack.h"
#include "memprof/attach/linux/thread/stop_moment.h"
#include "memprof/host/linux/process/proc_path.h"
#include "memprof/host/program/inner_allocators.h"

namespace memprof::cli {
namespace {

constexpr int kMaxAttempts = 20;
constexpr int64_t kMomentNs = 50'000'000;  // outside of transfers
constexpr int64_t kStopNs = 200'000'000;
constexpr int64_t kAllNs = 3'000'000'000;
constexpr uint32_t kMaxPatches = 4096;
constexpr size_t kMaxStackBytes = 1 << 20;

bool is_ours(const TargetImage& image) {
  return image.function("memprof_start") != 0 && image.function("memprof_init") != 0;
}

// Code that is overwritten: a thread may be at its first byte, not behind it.
struct Window {
  uint64_t start;
  uint64_t end;
  bool is_in(uint64_t address) const { return address > start && address < end; }
};

class Windows {
 public:
  void add(const LatePatch& patch) { all_.push_back({patch.address, patch.address + patch.window_bytes}); }
  void sort() {
    std::sort(all_.begin(), all_.end(), [](const Window& a, const Window& b) { return a.start < b.start; });
  }
  bool has(uint64_t address) const {
    if (all_.empty() || address <= all_.front().start || address >= all_.back().end) return false;
    const auto behind = std::upper_bound(all_.begin(), all_.end(), address,
                                         [](uint64_t a, const Window& w) { return a < w.start; });
    return behind != all_.begin() && std::prev(behind)->is_in(address);
  }
  bool is_empty() const { return all_.empty(); }

 private:
  std::vector<Window> all_;
};

// All patches of one group, and what is to be done with them.
enum class GroupState { kWanted, kDone, kGone };

class Writer {
 public:
  Writer(const Target& target, const LatePatchRequest& request) : target_(target), request_(request) {}

  LateHooks run() {
    if (!has_work()) return result_;  // nobody is stopped for nothing
    const int64_t end = monotonic_ns() + kAllNs;
    std::string why = "its threads could not be stopped";
    for (int i = 0; i < kMaxAttempts && monotonic_ns() < end; ++i) {
      ++result_.attempts;
      const int64_t begin = monotonic_ns();
      bool is_over = false;
      {
        wait_for_moment_of_all(target_.pid, kMomentNs);
        AllThreads threads(static_cast<pid_t>(target_.pid));
        why = threads.stop(kStopNs);
        if (why.empty()) is_over = write_while_stopped(threads, &why);
      }
      result_.pause_ns = std::max(result_.pause_ns, monotonic_ns() - begin);
      if (is_over) break;
      const timespec pause{0, 200'000L * (1 + i % 7)};
      nanosleep(&pause, nullptr);
    }
    result_.refused = why;
    return result_;
  }

 private:
  bool has_work() {
    memory_ = TargetMemory(target_.pid, TargetMemory::Access::kRead);
    int error = 0;
    ranges_ = memory_ranges(target_.pid, &error);
    if (memory_.error() != 0 || !read_patches()) return true;  // what is wrong is found where it is said
    return !wanted_groups().empty();
  }

  // true: there is no use in another attempt.
  bool write_while_stopped(const AllThreads& threads, std::string* why) {
    memory_ = TargetMemory(target_.pid, TargetMemory::Access::kReadAndWrite);
    if (memory_.error() != 0 || program_identity(target_.pid) != target_.identity) {
      *why = "it executes another program, or has ended";
      return true;
    }
    int error = 0;
    ranges_ = memory_ranges(target_.pid, &error);
    if (!read_patches()) {
      *why = "what its library prepared cannot be read";
      return true;
    }
    Windows windows;
    const std::vector<uint32_t> wanted = wanted_groups();
    for (const LatePatch& patch : patches_) {
      const bool is_wanted = std::find(wanted.begin(), wanted.end(), patch.group) != wanted.end();
      if (is_wanted && patch.window_bytes != 0) windows.add(patch);
    }
    windows.sort();
    if (!threads.each([&](const TracedThread& thread) { return is_outside(thread, windows); })) {
      *why = "a thread was always in code that is to be changed";
      return false;
    }
    for (const uint32_t group : wanted) {
      if (!write_group(group)) *why = "the system does not let its code be changed";
    }
    return true;
  }

  bool read_patches() {
    if (request_.patch_count > kMaxPatches) return false;
    patches_.resize(request_.patch_count);
    if (!memory_.read(request_.patches, patches_.data(), patches_.size() * sizeof(LatePatch))) return false;
    return std::all_of(patches_.begin(), patches_.end(), [](const LatePatch& p) {
      return p.written_bytes <= LatePatch::kMaxWrittenBytes && p.window_bytes <= LatePatch::kMaxWindowBytes &&
             (p.window_bytes == 0 || p.written_bytes <= p.window_bytes);
    });
  }

  // Patches of one group stand together.
  std::vector<uint32_t> wanted_groups() const {
    std::vector<uint32_t> wanted;
    for (size_t i = 0; i < patches_.size(); ++i) {
      const uint32_t group = patches_[i].group;
      const bool is_first = i == 0 || patches_[i - 1].group != group;
      if (is_first && state_of(group) == GroupState::kWanted) wanted.push_back(group);
    }
    return wanted;
  }

  GroupState state_of(uint32_t group) const {
    bool is_done = true;
    for (const LatePatch& p : patches_) {
      if (p.group != group) continue;
      const size_t bytes = p.window_bytes != 0 ? p.window_bytes : p.written_bytes;
      uint8_t now[LatePatch::kMaxWindowBytes] = {};
      const MemoryRange* range = range_at(ranges_, p.address);
      if (p.written_bytes == 0 || range == nullptr || (p.window_bytes != 0) != range->is_code ||
          range->is_writable == range->is_code || !memory_.read(p.address, now, bytes)) {
        return GroupState::kGone;
      }
      const bool is_new = memcmp(now, p.new_bytes, p.written_bytes) == 0;
      const bool is_rest_old =
          memcmp(now + p.written_bytes, p.old_bytes + p.written_bytes, bytes - p.written_bytes) == 0;
      const bool is_old = memcmp(now, p.old_bytes, p.written_bytes) == 0;
      // A heap that is at work has another state than the one that let it begin.
      if (p.window_bytes != 0 && (!is_rest_old || (!is_old && !is_new))) return GroupState::kGone;
      is_done = is_done && !is_old;
    }
    return is_done ? GroupState::kDone : GroupState::kWanted;
  }

  bool is_outside(const TracedThread& thread, const Windows& windows) const {
    if (windows.is_empty()) return true;
    processor::Registers registers;
    if (!processor::read_registers(thread.id(), &registers)) return false;
    if (windows.has(processor::program_counter(registers))) return false;
    const uint64_t begin = (processor::stack_pointer(registers) - kRedZoneBytes) & ~uint64_t{7};
    const MemoryRange* range = range_at(ranges_, processor::stack_pointer(registers));
    if (range == nullptr) return true;  // it has no stack: it has just been made, or ends
    std::vector<uint64_t> stack(std::min<uint64_t>(range->end - begin, kMaxStackBytes) / sizeof(uint64_t));
    stack.resize(memory_.read_some(begin, stack.data(), stack.size() * sizeof(uint64_t)) / sizeof(uint64_t));
    return std::none_of(stack.begin(), stack.end(), [&](uint64_t word) { return windows.has(word); });
  }

  bool write(const LatePatch& p, const uint8_t* bytes) const {
    uint8_t now[LatePatch::kMaxWrittenBytes];
    return memory_.write(p.address, bytes, p.written_bytes) &&
           memory_.read(p.address, now, p.written_bytes) && memcmp(now, bytes, p.written_bytes) == 0;
  }

  bool write_group(uint32_t group) {
    uint32_t functions = 0;
    for (const LatePatch& p : patches_) {
      if (p.group != group) continue;
      if (!write(p, p.new_bytes)) {
        undo(group);
        return false;
      }
      functions += p.window_bytes != 0;
    }
    result_.functions += functions;
    return true;
  }

  void undo(uint32_t group) const {
    for (const LatePatch& p : patches_) {
      if (p.group == group) write(p, p.old_bytes);
    }
  }

  const Target& target_;
  const LatePatchRequest& request_;
  TargetMemory memory_;
  std::vector<MemoryRange> ranges_;
  std::vector<LatePatch> patches_;
  LateHooks result_;
};

}  // namespace

std::vector<uint64_t> modules_with_allocators(const Target& target) {
  std::vector<uint64_t> found;
  const uint64_t headers = auxiliary_value(target.auxiliary_vector, AT_PHDR);
  const std::string root = proc_path(target.pid, "root");
  for (const TargetImage& image : target.images) {
    const bool is_program = headers >= image.start && headers < image.end;
    if (is_ours(image) || image.path.empty() || image.path[0] != '/') continue;
    std::string why;
    const auto file =
        profile::ElfFile::open(is_program ? proc_path(target.pid, "exe") : root + image.path, &why);
    if (file == nullptr) continue;
    const std::vector<InnerAllocatorFacts> allocators = inner_allocators(*file, is_program, root);
    const bool is_wanted = std::any_of(allocators.begin(), allocators.end(),
                                       [](const InnerAllocatorFacts& a) { return a.can_be_hooked; });
    if (is_wanted && found.size() < LatePatchRequest::kMaxModules) found.push_back(image.start);
  }
  return found;
}

LateHooks write_late_hooks(const Target& target, const LatePatchRequest& request) {
  return Writer(target, request).run();
}

}  // namespace memprof::cli
