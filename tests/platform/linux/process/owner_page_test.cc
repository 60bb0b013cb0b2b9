// SPDX-License-Identifier: Apache-2.0
// Each test forks while another thread holds one of what a child must not wait for.
#include "platform/posix/fork_handler.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "platform/linux/modules/module_map.h"
#include "runtime/cpython/codes.h"
#include "runtime/cpython/interpreter.h"
#include "runtime/cpython/objects.h"
#include "tests/support/engine.h"
#include "tests/support/fake_python.h"
#include "tests/support/folder.h"
#include "tests/support/python_fixtures.h"
#include "unwind/tables/rule_cache.h"

namespace memprof::platform::owner_page_test {
namespace {

using testing_support::FakePython;
using testing_support::in_child;
using testing_support::PythonFixture;
using testing_support::TemporaryFolder;
using unwind::g_rule_cache;
using unwind::Rule;

// In a process that is watched: forks while a thread is between take() and give(); the child runs check().
void fork_while_taken(const std::function<void()>& take, const std::function<void()>& give,
                      const std::function<void()>& check) {
  std::atomic<int> stage{0};
  std::thread holder([&] {
    take();
    stage = 1;
    while (stage != 2) {
      std::this_thread::yield();
    }
    give();
  });
  while (stage != 1) {
    std::this_thread::yield();
  }
  in_child(check);
  stage = 2;
  holder.join();
}

bool is_caching(uint64_t address) {
  g_rule_cache.enter(address, {Rule::kRoot, 0, 0}, g_rule_cache.ticket());
  Rule rule{};
  return g_rule_cache.find(address, &rule);
}

TEST(ForkHandler, AnotherThreadsUnloadEndsInTheChild) {
  in_child([] {
    profiler::adopt_process();
    watch_forks();
    PythonFixture python;
    runtimes::attach();
    ASSERT_NE(nullptr, cpython::interpreter());
    fork_while_taken(
        [] {
          g_rule_cache.begin_unload();
          runtimes::before_unload();
        },
        [] {
          runtimes::after_unload();
          g_rule_cache.end_unload();
        },
        [] {
          EXPECT_TRUE(is_caching(0x401000));
          EXPECT_NE(nullptr, cpython::interpreter());
          // And later ones count as ever.
          g_rule_cache.begin_unload();
          runtimes::before_unload();
          EXPECT_FALSE(is_caching(0x402000));
          EXPECT_EQ(nullptr, cpython::interpreter());
          runtimes::after_unload();
          g_rule_cache.end_unload();
          EXPECT_TRUE(is_caching(0x403000));
          EXPECT_NE(nullptr, cpython::interpreter());
        });
    EXPECT_TRUE(is_caching(0x404000));
    EXPECT_NE(nullptr, cpython::interpreter());
  });
}

// The destructor of a library forks.
TEST(ForkHandler, TheForkingThreadsOwnUnloadGoesOnInTheChild) {
  in_child([] {
    profiler::adopt_process();
    watch_forks();
    PythonFixture python;
    runtimes::attach();
    g_rule_cache.begin_unload();
    runtimes::before_unload();
    fork_while_taken(
        [] {
          g_rule_cache.begin_unload();
          runtimes::before_unload();
        },
        [] {
          runtimes::after_unload();
          g_rule_cache.end_unload();
        },
        [] {
          EXPECT_FALSE(is_caching(0x401000));
          EXPECT_EQ(nullptr, cpython::interpreter());
          runtimes::after_unload();
          g_rule_cache.end_unload();
          EXPECT_TRUE(is_caching(0x402000));
          EXPECT_NE(nullptr, cpython::interpreter());
        });
    runtimes::after_unload();
    g_rule_cache.end_unload();
  });
}

// A child without any handler of the C library: by who makes it a process of its own.
TEST(ForkHandler, ARawChildIsResetWhenItBegins) {
  in_child([] {
    profiler::adopt_process();
    std::atomic<int> stage{0};
    std::thread holder([&stage] {
      g_rule_cache.begin_unload();
      stage = 1;
      while (stage != 2) {
        std::this_thread::yield();
      }
      g_rule_cache.end_unload();
    });
    while (stage != 1) {
      std::this_thread::yield();
    }
    const pid_t cloned = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (cloned == 0) {
      const bool was_off = !is_caching(0x401000);
      const bool begins = profiler::initialize({1024, 256, 64}, 4096) == Status::kOk;
      syscall(SYS_exit_group, was_off && begins && is_caching(0x402000) ? 0 : 1);
    }
    int status = 1;
    EXPECT_EQ(cloned, waitpid(cloned, &status, 0));
    EXPECT_EQ(0, status);
    stage = 2;
    holder.join();
  });
}

TEST(ForkHandler, AnotherThreadsListOfModulesIsMadeAnew) {
  in_child([] {
    profiler::adopt_process();
    watch_forks();
    const TemporaryFolder folder;
    const std::string pipe = folder.path("maps");  // whoever reads it waits
    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
    std::thread reader([&pipe] { g_module_map.renew(pipe.c_str()); });
    const int writer = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);  // returns when it is read
    ASSERT_GE(writer, 0);
    in_child([] { EXPECT_TRUE(g_module_map.renew("/proc/self/maps")); });
    close(writer);
    reader.join();
  });
}

// PyMem_GetAllocator waits, in the middle of the change of a table.
TEST(ForkHandler, AnotherThreadsChangeOfPythonsAllocatorsIsDoneInTheChild) {
  in_child([] {
    profiler::adopt_process();
    watch_forks();
    PythonFixture python;
    int* const waits = python.get<int>("fake_get_waits");
    *waits = 1;
    std::thread holder([] { runtimes::attach(); });
    while (__atomic_load_n(waits, __ATOMIC_ACQUIRE) != 2) {
      std::this_thread::yield();
    }
    in_child([waits] {
      *waits = 0;
      runtimes::attach();
      EXPECT_EQ(cpython::ObjectState::kHooked, cpython::object_state());
    });
    __atomic_store_n(waits, 0, __ATOMIC_RELEASE);
    holder.join();
  });
}

// What is held for a few instructions only: some of these forks meet it.
TEST(ForkHandler, AnotherThreadsLookAtCodeIsNoObstacle) {
  in_child([] {
    profiler::adopt_process();
    watch_forks();
    FakePython python;
    std::atomic<bool> done{false};
    std::thread busy([&] {
      while (!done) {
        cpython::unwatch_codes();
        cpython::watch_codes(python.interpreter, python.layout);
      }
    });
    int failures = 0;
    for (int i = 0; i < 100; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        cpython::unwatch_codes();
        cpython::watch_codes(python.interpreter, python.layout);
        _exit(cpython::code_cache().salt != cpython::CodeCache::kNothing ? 0 : 1);
      }
      int status = 1;
      EXPECT_EQ(pid, waitpid(pid, &status, 0));
      failures += status != 0 ? 1 : 0;
    }
    done = true;
    busy.join();
    EXPECT_EQ(0, failures);
  });
}

}  // namespace
}  // namespace memprof::platform::owner_page_test
