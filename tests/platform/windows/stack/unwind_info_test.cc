// SPDX-License-Identifier: Apache-2.0
// Against RtlVirtualUnwind, frame by frame, with all registers that a frame can be found by.
#include "platform/windows/stack/unwind_info.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <vector>

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

int g_frames = 0;

// rbx, rbp, rsi, rdi, r12 to r15, rsp: as CONTEXT has them, and as unwind information numbers them.
void expect_same(const CONTEXT& theirs, const FrameRegisters& ours) {
  EXPECT_EQ(ours.ip, theirs.Rip);
  EXPECT_EQ(ours.words[3], theirs.Rbx);
  EXPECT_EQ(ours.words[kRsp], theirs.Rsp);
  EXPECT_EQ(ours.words[kRbp], theirs.Rbp);
  EXPECT_EQ(ours.words[6], theirs.Rsi);
  EXPECT_EQ(ours.words[7], theirs.Rdi);
  EXPECT_EQ(ours.words[12], theirs.R12);
  EXPECT_EQ(ours.words[13], theirs.R13);
  EXPECT_EQ(ours.words[14], theirs.R14);
  EXPECT_EQ(ours.words[15], theirs.R15);
}

[[gnu::noinline]] void compare_walks() {
  CONTEXT theirs;
  RtlCaptureContext(&theirs);
  FrameRegisters ours{};
  ours.ip = theirs.Rip;
  const DWORD64 words[] = {theirs.Rax, theirs.Rcx, theirs.Rdx, theirs.Rbx, theirs.Rsp, theirs.Rbp,
                           theirs.Rsi, theirs.Rdi, theirs.R8,  theirs.R9,  theirs.R10, theirs.R11,
                           theirs.R12, theirs.R13, theirs.R14, theirs.R15};
  std::copy(words, words + 16, ours.words);
  const StackRange bounds{thread_block_word(kStackAllocation), thread_block_word(kStackBase)};
  const auto end = address_of(
      reinterpret_cast<const void*>(GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlUserThreadStart")));
  g_frames = 0;
  for (; theirs.Rip != 0; ++g_frames) {
    ASSERT_LT(g_frames, 10000);
    DWORD64 base = 0;
    auto* entry = RtlLookupFunctionEntry(theirs.Rip, &base, nullptr);
    ASSERT_NE(entry, nullptr) << g_frames;
    if (base + entry->BeginAddress == end) return;
    const FunctionRange range{entry->BeginAddress, entry->EndAddress, entry->UnwindData};
    void* data = nullptr;
    DWORD64 frame = 0;
    RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, theirs.Rip, entry, &theirs, &data, &frame, nullptr);
    ASSERT_EQ(unwind_function(base, range, bounds, &ours), Step::kDone) << g_frames;
    expect_same(theirs, ours);
  }
}

[[gnu::noinline]] int deep(int depth) {
  if (depth == 0) {
    compare_walks();
    return 1;
  }
  volatile char some[300];
  some[depth % 300] = static_cast<char>(depth);
  return deep(depth - 1) + some[depth % 300];
}

// With a frame register, as the size is known at run time only.
[[gnu::noinline]] int with_alloca(size_t bytes) {
  auto* memory = static_cast<volatile char*>(__builtin_alloca(bytes));
  memory[bytes / 2] = 1;
  return deep(3) + memory[bytes / 2];
}

[[gnu::noinline]] int with_large_frame(int x) {
  volatile char large[600000];
  large[x] = 1;
  return deep(2) + large[x];
}

int __cdecl by_qsort(const void* a, const void* b) {
  static bool done;
  if (!done) {
    done = true;
    compare_walks();
  }
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

BOOL CALLBACK by_enumeration(HMODULE, wchar_t*, LONG_PTR) {
  compare_walks();
  return FALSE;
}

TEST(WindowsUnwindInfo, DeepStacks) {
  deep(200);
  EXPECT_GT(g_frames, 200);
}

TEST(WindowsUnwindInfo, FrameRegistersAndLargeFrames) {
  for (size_t bytes : {16, 5000, 200000}) {
    with_alloca(bytes);
  }
  with_large_frame(17);
  EXPECT_GT(g_frames, 5);
}

TEST(WindowsUnwindInfo, ThroughTheSystemsCode) {
  int numbers[] = {5, 3, 9, 1, 7, 2, 8};
  qsort(numbers, 7, sizeof(int), by_qsort);
  EXPECT_GT(g_frames, 3);
  g_frames = 0;
  EnumResourceTypesW(GetModuleHandleW(L"kernel32.dll"), by_enumeration, 0);
  EXPECT_GT(g_frames, 3);
}

TEST(WindowsUnwindInfo, InAnotherThread) {
  const HANDLE thread = CreateThread(
      nullptr, 0,
      [](void*) -> DWORD {
        deep(10);
        return 0;
      },
      nullptr, 0, nullptr);
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
  EXPECT_GT(g_frames, 10);
}

// What lies outside of the stack is not read.
TEST(WindowsUnwindInfo, StaysInTheStack) {
  const auto address = address_of(reinterpret_cast<const void*>(&compare_walks));
  DWORD64 base = 0;
  auto* entry = RtlLookupFunctionEntry(address, &base, nullptr);
  ASSERT_NE(entry, nullptr);
  const FunctionRange range{entry->BeginAddress, entry->EndAddress, entry->UnwindData};
  FrameRegisters registers{};
  registers.ip = base + entry->EndAddress - 1;
  uint64_t words[4] = {};
  registers.words[kRsp] = registers.words[kRbp] = address_of(words);
  EXPECT_EQ(unwind_function(base, range, {address_of(words), address_of(words + 4)}, &registers),
            Step::kLeftStack);
}

}  // namespace
}  // namespace memprof::platform
