// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/untabled_frames.h"

#include <algorithm>
#include <set>

#include "memprof/attach/linux/processor/processor.h"
#include "platform/code/code_rule.h"

namespace memprof::cli {

struct UntabledFrames::Copy {
  uint64_t start = 0;  // there
  std::vector<CodeRange> code;
  std::vector<unsigned char> bytes;
  uint64_t moved = 0;            // from there to here
  std::set<uint64_t> noreturns;  // there, and here
  bool is_c_library = false;
};

namespace {

constexpr uint64_t kCopiedPage = 4096;
constexpr uint64_t kMaxImageBytes = uint64_t{256} << 20;
constexpr uint64_t kCallBytes = 8;
constexpr const char* kNoReturns[] = {"exit",
                                      "_Exit",
                                      "_exit",
                                      "abort",
                                      "quick_exit",
                                      "pthread_exit",
                                      "longjmp",
                                      "siglongjmp",
                                      "_longjmp",
                                      "thrd_exit",
                                      "__assert_fail",
                                      "__cxa_throw",
                                      "__stack_chk_fail",
                                      "__cxa_rethrow",
                                      "_Unwind_Resume",
                                      "__libc_start_main"};

// A rule is asked for with a plain function, which sees this.
thread_local const std::set<uint64_t>* t_noreturns = nullptr;

bool is_noreturn(uint64_t function) {
  return t_noreturns->count(function) != 0;
}

// Page by page: between segments nothing can be read.
void copy_image(const TargetMemory& memory, uint64_t start, uint64_t end, unsigned char* to) {
  constexpr uint64_t kPart = 64 * kCopiedPage;
  for (uint64_t at = start; at < end; at += kPart) {
    const uint64_t part = std::min(kPart, end - at);
    if (memory.read(at, to + (at - start), part)) continue;
    for (uint64_t page = at; page < at + part; page += kCopiedPage) {
      memory.read_some(page, to + (page - start), std::min(kCopiedPage, at + part - page));
    }
  }
}

}  // namespace

UntabledFrames::UntabledFrames(const TargetMemory& memory, const std::vector<TargetImage>& images,
                               const TargetImage& c_library) {
  std::set<uint64_t> noreturns;
  for (const TargetImage& image : images) {
    for (const char* name : kNoReturns) noreturns.insert(image.function(name));
  }
  noreturns.erase(0);
  for (const TargetImage& image : images) {
    if (image.end - image.start > kMaxImageBytes) continue;
    Copy copy;
    copy.start = image.start;
    copy.code = image.code;
    copy.is_c_library = image.start == c_library.start;
    copy.bytes.resize(image.end - image.start + kCopiedPage);
    // Where functions begin in a page tells.
    const auto here =
        (reinterpret_cast<uint64_t>(copy.bytes.data()) + kCopiedPage - 1) / kCopiedPage * kCopiedPage;
    copy.moved = here - image.start;
    copy_image(memory, image.start, image.end, reinterpret_cast<unsigned char*>(here));
    copy.noreturns = noreturns;
    for (const uint64_t function : noreturns) copy.noreturns.insert(function + copy.moved);
    copies_.push_back(std::move(copy));
  }
}

UntabledFrames::~UntabledFrames() = default;

UntabledFrames::Left UntabledFrames::leave(FrameRegisters* registers, const ReadWord& read) const {
  using unwind::Rule;
  const uint64_t pc = registers->pc;
  for (const Copy& copy : copies_) {
    for (const CodeRange& code : copy.code) {
      if (!code.contains(pc) || pc - code.start < kCallBytes) continue;
      const platform::CodeRange range{code.start + copy.moved, code.end + copy.moved, copy.is_c_library};
      Rule rule{};
      t_noreturns = &copy.noreturns;
      if (!platform::find_code_rule(pc + copy.moved, range, is_noreturn, &rule)) return Left::kUnknown;
      if (rule.kind == Rule::kRoot) return Left::kIsRoot;
      if (rule.kind != Rule::kFromSp && rule.kind != Rule::kFromBp) return Left::kUnknown;
      constexpr uint64_t kWord = sizeof(uint64_t);
      const uint64_t cfa = (rule.kind == Rule::kFromSp ? registers->sp : registers->bp) + rule.a * kWord;
      FrameRegisters caller{0, cfa, registers->bp};
      if (cfa <= registers->sp || !read(cfa - kWord, &caller.pc) ||
          (rule.b != 0 && !read(cfa - rule.b * kWord, &caller.bp))) {
        return Left::kUnknown;
      }
      *registers = caller;
      return Left::kToCaller;
    }
  }
  return Left::kUnknown;
}

}  // namespace memprof::cli
