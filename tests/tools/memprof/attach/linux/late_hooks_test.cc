// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/late_hooks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "tests/tools/memprof/attach/linux/target_process.h"

#if defined(__x86_64__)
namespace memprof::cli {
namespace {

constexpr size_t kPage = 4096;
// nop; 1: movb $1, (%rsi); mov (%rdi), %eax; test %eax, %eax; jz 1b; ret
constexpr uint8_t kLoop[] = {0x90, 0xc6, 0x06, 0x01, 0x8b, 0x07, 0x85, 0xc0, 0x74, 0xf7, 0xc3};
constexpr uint16_t kWindow = 10;
// A jump behind the loop, where another `ret` is.
constexpr uint8_t kJump[] = {0xe9, 6, 0, 0, 0};

// What both processes see.
struct Shared {
  std::atomic<uint32_t> may_leave_loop;
  std::atomic<uint32_t> is_in_loop;
  std::atomic<uint32_t> may_leave_handler;
  std::atomic<uint32_t> is_in_handler;
  std::atomic<uint32_t> is_done;
};
Shared* g_shared;

void wait_for(const std::atomic<uint32_t>& flag) {
  while (flag.load() == 0) usleep(100);
}

void stay(int) {
  g_shared->is_in_handler = 1;
  while (g_shared->may_leave_handler == 0) {
  }
}

// A process that executes the loop, and has what a library prepared: a jump in its place, and a word that begins it.
class Process {
 public:
  explicit Process(bool runs_loop) {
    g_shared = static_cast<Shared*>(map(PROT_READ | PROT_WRITE, MAP_SHARED));
    code_ = static_cast<uint8_t*>(map(PROT_READ | PROT_WRITE, MAP_PRIVATE));
    data_ = static_cast<Data*>(map(PROT_READ | PROT_WRITE, MAP_PRIVATE));
    memset(code_, 0xc3, kPage);
    memcpy(code_, kLoop, sizeof(kLoop));
    mprotect(code_, kPage, PROT_READ | PROT_EXEC);
    data_->patches[0] = code_patch(0, 0);
    data_->patches[1] = word_patch(0, 0);
    request_.patches = reinterpret_cast<uint64_t>(data_->patches);
    request_.patch_count = 2;
    prepare_more();
    pid_ = fork();
    if (pid_ == 0) {
      signal(SIGUSR1, stay);
      using Loop = void (*)(std::atomic<uint32_t>*, std::atomic<uint32_t>*);
      if (runs_loop) reinterpret_cast<Loop>(code_)(&g_shared->may_leave_loop, &g_shared->is_in_loop);
      g_shared->is_done = 1;
      while (true) pause();
    }
    target_.pid = static_cast<uint64_t>(pid_);
    target_.identity = program_identity(target_.pid);
    wait_for(runs_loop ? g_shared->is_in_loop : g_shared->is_done);
  }
  ~Process() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(g_shared, kPage);
    munmap(code_, kPage);
    munmap(data_, kPage);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // As many patches as `request` has; those behind the first two are not as the process is, or withdrawn.
  void prepare_more() {
    LatePatch* p = data_->patches;
    p[2] = code_patch(512, 1);
    p[2].old_bytes[0] = 0x55;
    p[3] = word_patch(1, 1);
    p[4] = code_patch(1024, 2);
    memset(p[4].old_bytes, 0xc3, sizeof(p[4].old_bytes));
    p[4].written_bytes = 0;
    p[5] = word_patch(2, 2);
  }

  LateHooks write(uint32_t count = 2) {
    request_.patch_count = count;
    return write_late_hooks(target_, request_);
  }
  bool is_patched(uint64_t offset, uint32_t word) const {
    const TargetMemory memory(target_.pid, TargetMemory::Access::kRead);
    uint8_t code[sizeof(kJump)];
    uint32_t value = 0;
    EXPECT_TRUE(memory.read(reinterpret_cast<uint64_t>(code_) + offset, code, sizeof(code)));
    EXPECT_TRUE(memory.read(reinterpret_cast<uint64_t>(&data_->words[word]), &value, sizeof(value)));
    EXPECT_EQ(memcmp(code, kJump, sizeof(kJump)) == 0, value == 1);
    return value == 1;
  }
  pid_t pid() const { return pid_; }

 private:
  struct Data {
    LatePatch patches[6];
    uint32_t words[3];
  };

  static void* map(int protection, int flags) {
    return mmap(nullptr, kPage, protection, flags | MAP_ANONYMOUS, -1, 0);
  }
  LatePatch code_patch(uint64_t offset, uint32_t group) const {
    LatePatch patch{};
    patch.address = reinterpret_cast<uint64_t>(code_) + offset;
    patch.group = group;
    patch.window_bytes = kWindow;
    patch.written_bytes = sizeof(kJump);
    memcpy(patch.old_bytes, code_ + offset, kWindow);
    memcpy(patch.new_bytes, kJump, sizeof(kJump));
    return patch;
  }
  LatePatch word_patch(uint32_t word, uint32_t group) const {
    LatePatch patch{};
    patch.address = reinterpret_cast<uint64_t>(&data_->words[word]);
    patch.group = group;
    patch.written_bytes = sizeof(uint32_t);
    patch.new_bytes[0] = 1;
    return patch;
  }

  uint8_t* code_ = nullptr;
  Data* data_ = nullptr;
  LatePatchRequest request_;
  Target target_;
  pid_t pid_ = -1;
};

TEST(LateHooks, AreWrittenOnce) {
  NEEDS_PTRACE();
  Process process(false);
  const LateHooks written = process.write();
  EXPECT_EQ(written.refused, "");
  EXPECT_EQ(written.functions, 1u);
  EXPECT_TRUE(process.is_patched(0, 0));
  const LateHooks again = process.write();
  EXPECT_EQ(again.functions, 0u);
  EXPECT_EQ(again.attempts, 0);
}

TEST(LateHooks, NotWhileAThreadIsInThatCode) {
  NEEDS_PTRACE();
  Process process(true);
  LateHooks written = process.write();
  EXPECT_EQ(written.refused, "a thread was always in code that is to be changed");
  EXPECT_GT(written.attempts, 1);
  EXPECT_FALSE(process.is_patched(0, 0));
  g_shared->may_leave_loop = 1;
  wait_for(g_shared->is_done);
  written = process.write();
  EXPECT_EQ(written.refused, "");
  EXPECT_TRUE(process.is_patched(0, 0));
}

TEST(LateHooks, NorWhileAHandlerReturnsThere) {
  NEEDS_PTRACE();
  Process process(true);
  kill(process.pid(), SIGUSR1);
  wait_for(g_shared->is_in_handler);
  g_shared->may_leave_loop = 1;
  EXPECT_EQ(process.write().refused, "a thread was always in code that is to be changed");
  EXPECT_FALSE(process.is_patched(0, 0));
  g_shared->may_leave_handler = 1;
  wait_for(g_shared->is_done);
  EXPECT_EQ(process.write().refused, "");
  EXPECT_TRUE(process.is_patched(0, 0));
}

TEST(LateHooks, WhatIsNotAsItWasStaysAsItIs) {
  NEEDS_PTRACE();
  Process process(false);
  const LateHooks written = process.write(6);
  EXPECT_EQ(written.refused, "");
  EXPECT_EQ(written.functions, 1u);
  EXPECT_TRUE(process.is_patched(0, 0));
  EXPECT_FALSE(process.is_patched(512, 1));
  EXPECT_FALSE(process.is_patched(1024, 2));
}

}  // namespace
}  // namespace memprof::cli
#endif
