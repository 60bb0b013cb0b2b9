// SPDX-License-Identifier: Apache-2.0
// Without hooks: what the functions do to the engine's state.  tests/e2e/own_allocators_test.py has the rest.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <thread>

#include "core/engine/profiler.h"
#include "memprof.h"
#include "tests/support/engine.h"

namespace memprof::reported_capi_test {
namespace {

using testing_support::in_child;

char g_memory[4096];

void start_at(uint64_t rate_bytes) {
  ASSERT_EQ(Status::kOk, profiler::initialize(kDefaultLimits, rate_bytes));
  ASSERT_EQ(Status::kOk, profiler::start());
}

uint64_t live() {
  return profiler::counters().live_samples;
}

TEST(ReportedCapi, TheInlineFormsSeeTheCountAndTheFilterOfTheEngine) {
  in_child([] {
    start_at(0);
    EXPECT_EQ(memprof_abi1_thread_count(), &memprof_abi1_count);
    EXPECT_EQ(memprof_abi1_thread_count(), &t_sampler.count);
    EXPECT_EQ(&g_sampled_filter, memprof_abi1_filter);
    memprof_report_alloc_inline(g_memory, 10, 0);
    EXPECT_EQ(1u, live());
    EXPECT_NE(0, memprof_abi1_maybe(g_memory));
    memprof_report_realloc_inline(g_memory, g_memory + 100, 20, 0);
    EXPECT_EQ(1u, live());
    memprof_report_free_inline(g_memory + 100);
    EXPECT_EQ(0u, live());
    EXPECT_EQ(0, memprof_abi1_maybe(g_memory));
    EXPECT_EQ(2u, profiler::counters().samples);
  });
}

TEST(ReportedCapi, EveryThreadHasACountOfItsOwnAtOneAddress) {
  uint64_t* const own = memprof_abi1_thread_count();
  std::thread([own] {
    uint64_t* const count = memprof_abi1_thread_count();
    ASSERT_NE(nullptr, count);
    EXPECT_NE(own, count);
    *count = 1000;
    memprof_report_alloc(g_memory, 10, 0);
    EXPECT_EQ(990u, *count);
    EXPECT_EQ(count, memprof_abi1_thread_count());
  }).join();
  EXPECT_EQ(own, memprof_abi1_thread_count());
}

TEST(ReportedCapi, TheInlineFormsCountAsTheFunctions) {
  in_child([] {
    start_at(uint64_t{1} << 40);
    uint64_t& count = *memprof_abi1_thread_count();  // t_sampler is another variable to the compiler
    for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{4096}, uint64_t{1} << 20}) {
      count = uint64_t{1} << 30;
      memprof_report_alloc_inline(g_memory, size, 0);
      const uint64_t inline_count = count;
      count = uint64_t{1} << 30;
      memprof_report_alloc(g_memory, size, 0);
      EXPECT_EQ(count, inline_count) << size;
      EXPECT_EQ((uint64_t{1} << 30) - size - (size == 0), inline_count);
      count = uint64_t{1} << 30;
      memprof_report_realloc_inline(g_memory, g_memory, size, 0);
      EXPECT_EQ(inline_count, count);
      count = uint64_t{1} << 30;
      memprof_report_realloc(g_memory, g_memory, size, 0);
      EXPECT_EQ(inline_count, count);
      count = uint64_t{1} << 30;
      memprof_report_realloc_end(0, g_memory, g_memory, size, 0);
      EXPECT_EQ(inline_count, count);
    }
  });
}

TEST(ReportedCapi, RegisteringSaysWhatIsWrong) {
  in_child([] {
    memprof_heap_id heap = 7;
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_heap_register(nullptr, &heap));
    EXPECT_EQ(0u, heap);
    for (const std::string& name : {std::string(), std::string("a\tb"), std::string("\x7f"),
                                    std::string(MEMPROF_MAX_HEAP_NAME_BYTES + 1, 'x')}) {
      heap = 7;
      EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_heap_register(name.c_str(), &heap)) << name;
      EXPECT_EQ(0u, heap);
    }
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_heap_register("a", nullptr));
    EXPECT_EQ(MEMPROF_OK, memprof_heap_register("h\xc3\xb6he", &heap));
    EXPECT_EQ(1u, heap);
    for (int i = 1; i < MEMPROF_MAX_HEAPS; ++i) {
      ASSERT_EQ(MEMPROF_OK, memprof_heap_register(std::to_string(i).c_str(), &heap));
    }
    errno = 4711;
    EXPECT_EQ(MEMPROF_OK, memprof_heap_register("more", &heap));
    EXPECT_EQ(MEMPROF_MAX_HEAPS, heap);
    EXPECT_EQ(4711, errno);
  });
}

TEST(ReportedCapi, EverythingMayBeCalledBeforeInitAndAfterShutdown) {
  in_child([] {
    const auto use = [] {
      memprof_report_alloc(g_memory, SIZE_MAX, 0);
      memprof_report_realloc(g_memory, g_memory + 1, SIZE_MAX, 3);
      memprof_report_realloc_end(memprof_report_realloc_begin(g_memory), g_memory, nullptr, 0, 0);
      memprof_report_free(g_memory);
      memprof_report_free_range(g_memory, SIZE_MAX);
      memprof_report_backing(g_memory);
      memprof_backing_begin();
      memprof_backing_end();
    };
    use();
    start_at(0);
    ASSERT_EQ(Status::kOk, profiler::shutdown());
    use();
    EXPECT_EQ(0u, profiler::counters().samples);
  });
}

}  // namespace
}  // namespace memprof::reported_capi_test
