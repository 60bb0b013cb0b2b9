// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/import_patch.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>

#include "memprof.h"
#include "tests/platform/linux/imports/patched_libraries.h"
#include "tests/support/engine.h"
#include "tests/support/import_fixtures.h"

namespace memprof::import_patch_test {
namespace {

// ---- Under load

// Lesson 1: no lock order between the loader and us; lesson 11: starts and stops under load.
TEST(ImportPatch, Lesson11StartsAndStopsWhileThreadsAllocate) {
  in_child([] {
    const Library library("now");
    const auto allocate = library.get<void* (*)(size_t)>("fixture_malloc");
    const auto release = library.get<void (*)(void*)>("fixture_free");
    initialize(1000);
    std::atomic<bool> stop{false};
    constexpr int kThreads = 8;
    run_threads(kThreads + 1, [&](int thread) {
      if (thread == kThreads) {
        for (int i = 0; i < static_cast<int>(scaled(10000)); ++i) {
          ASSERT_EQ(MEMPROF_OK, memprof_start());
          ASSERT_EQ(MEMPROF_OK, memprof_stop());
        }
        stop = true;
        return;
      }
      void* blocks[16] = {};
      for (unsigned i = 0; !stop.load(std::memory_order_relaxed); ++i) {
        release(blocks[i % 16]);
        blocks[i % 16] = allocate(i % 700);
      }
      for (void* block : blocks) {
        release(block);
      }
    });
    EXPECT_EQ(0u, stats().replaced_samples);
    EXPECT_EQ(0u, stats().dropped_samples);
  });
}

TEST(ImportPatch, Lesson1LoadsAndUnloadsWhileThreadsAllocateAndFork) {
  in_child([] {
    const Library library("now");
    const auto allocate = library.get<void* (*)(size_t)>("fixture_malloc");
    const auto release = library.get<void (*)(void*)>("fixture_free");
    std::atomic<bool> stop{false};
    std::atomic<bool> started{false};
    // Started when the threads are there: ThreadSanitizer allocates in a thread that it does not know yet.
    run_threads(8, [&](int thread) {
      if (thread == 0) {
        start();
        started = true;
        for (int i = 0; i < static_cast<int>(scaled(600)); ++i) {
          const Library other(i % 3 == 0 ? "lazy" : i % 3 == 1 ? "no_plt" : "sysv_hash");
          other.free(other.allocate(50));
          other.close();
        }
        stop = true;
      } else if (thread == 1 && !kSanitized) {
        while (!stop) {
          const pid_t child = fork();
          if (child == 0) {
            alarm(20);  // a lock that is held for ever in the child would end it by a signal
            dlclose(dlopen("libm.so.6", RTLD_NOW));
            dlsym(RTLD_DEFAULT, "malloc");
            _exit(0);
          }
          int status = 0;
          waitpid(child, &status, 0);
          EXPECT_EQ(0, status);
        }
      } else if (thread == 2) {
        while (!stop) {
          dlsym(RTLD_DEFAULT, "malloc");
          EXPECT_TRUE(!started || memprof_rescan_imports() == MEMPROF_OK);
        }
      } else {
        while (!stop) {
          release(allocate(100));
        }
      }
    });
  });
}

}  // namespace
}  // namespace memprof::import_patch_test
