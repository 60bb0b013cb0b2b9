// SPDX-License-Identifier: Apache-2.0
// With a sampler of the tests in place of V8's: a tree of calls that the test makes.
#include "runtime/v8/heap.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/engine/profiler.h"
#include "core/reader/snapshot.h"
#include "platform/process.h"
#include "runtime/v8/isolates.h"
#include "tests/runtime/v8/fake_engine.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::v8::heap_test {
namespace {

using testing_support::in_child;
using testing_support::take;

struct Sampler {
  bool has_node = true;
  bool samples = true;  // false: the program has ended it
  int starts = 0;
  bool is_free = true;  // false: the program had begun to sample
  int stops = 0;
  int answers = 0;
  int removed = 0;
  int scopes = 0;  // that are open
  uint64_t interval_bytes = 0;
  std::vector<void (*)(void*)> at_exit, at_cleanup;
  const AllocationNode* root = nullptr;
};
Sampler g_sampler;

// A node of V8's, and what it points to.
struct Call {
  Call(const char* name, int script, int line, const std::vector<size_t>& sizes) {
    for (const size_t size : sizes) {
      allocations.push_back({size, 2});  // two objects of each size
    }
    node.name = const_cast<char*>(name);
    node.script_name = const_cast<char*>(script != 0 ? "/srv/app.js" : "");
    node.script_id = script;
    node.line = line;
    node.column = line;
    node.allocations = {allocations.data(), allocations.data() + allocations.size(), nullptr};
  }
  Call& call(Call& callee) {
    callees.push_back(&callee.node);
    node.children = {callees.data(), callees.data() + callees.size(), nullptr};
    return *this;
  }
  AllocationNode node{};
  std::vector<AllocationNode::Allocation> allocations;
  std::vector<AllocationNode*> callees;
};

AllocationProfile g_profile{};
const AllocationProfile::Functions kProfileFunctions = {
    [](AllocationProfile*) { return g_sampler.root; },
    nullptr,
    nullptr,
    [](AllocationProfile*) { ++g_sampler.removed; },
};

const HeapFunctions kHeap = {
    [](void* isolate) { return isolate; },
    [](void*, uint64_t interval_bytes, int, int) {
      g_sampler.interval_bytes = interval_bytes;
      ++g_sampler.starts;
      return g_sampler.is_free;
    },
    [](void*) { ++g_sampler.stops; },
    [](void*) -> AllocationProfile* {
      ++g_sampler.answers;
      g_profile.functions = &kProfileFunctions;
      return g_sampler.samples ? &g_profile : nullptr;
    },
    [](HandleScope*, void*) { ++g_sampler.scopes; },
    [](HandleScope*) { --g_sampler.scopes; },
    nullptr,
    nullptr,
    nullptr,
    [](Utf8Value* text, void*, void* handle, int) { text->text = static_cast<const char*>(handle); },
    [](Utf8Value*) {},
    [](void*, HeapStatistics* statistics) {
      statistics->physical_bytes = 9000;
      statistics->used_bytes = 8000;
      statistics->external_bytes = 600;
    },
    [](void*) { return size_t{4}; },
    [](void*, HeapSpaceStatistics* space, size_t index) {
      const char* const names[] = {"old_space", "code_space", "code_large_object_space",
                                   "new_large_object_space"};
      space->name = names[index];
      space->used_bytes = 10 + index;
      space->physical_bytes = 1000 << index;
      return true;
    },
    [](void* isolate) { return isolate; },
    [](void* context) { return g_sampler.has_node ? context : nullptr; },
    [](void*, void (*function)(void*), void*) { g_sampler.at_exit.push_back(function); },
    [](void*, void (*function)(void*), void*) { g_sampler.at_cleanup.push_back(function); },
};

// A profiler at work, and an engine with a sampler.
struct Fixture {
  explicit Fixture(bool wanted = true) {
    g_sampler = {};
    EXPECT_EQ(Status::kOk, profiler::initialize({1024, 8192, 64}, 512 * 1024));
    with_heap = fakes::kEngine;
    with_heap.heap = kHeap;
    g_engine.store(&with_heap);
    sample_heap(wanted);
  }
  void call() { before_call(fakes::g_state.isolate); }
  std::string tree() const {
    const auto s = take(profiler::arena());
    std::string text;
    for (uint64_t i = 0; i < s->runtime_heap.node_count; ++i) {
      const RuntimeHeapNode& n = s->runtime_heap.nodes[i];
      text += std::to_string(n.parent) + " " + n.function + " " + n.file + ":" + std::to_string(n.line) +
              " " + std::to_string(n.bytes) + "\n";
    }
    return text;
  }
  fakes::FakeEngine fake;
  Engine with_heap{};
};

TEST(V8Heap, IsToldAtTheEndByFunction) {
  in_child([] {
    Fixture f;
    Call root("(root)", 0, 0, {}), top("", 7, 1, {100}), keep("keep", 7, 4, {8, 50}), none("", 7, 9, {1});
    Call work("(GC)", 0, 0, {5}), alone("(BYTECODE_COMPILER)", 0, 0, {3});
    keep.call(work);
    top.call(keep).call(none);
    root.call(top).call(alone);
    g_sampler.root = &root.node;
    f.call();
    f.call();
    EXPECT_EQ(1, g_sampler.starts);
    EXPECT_EQ(512u * 1024, g_sampler.interval_bytes);
    EXPECT_EQ("", f.tree());
    ASSERT_EQ(1u, g_sampler.at_exit.size());
    ASSERT_EQ(1u, g_sampler.at_cleanup.size());
    g_sampler.at_cleanup[0](nullptr);
    const std::string expected =
        "0 (top level) /srv/app.js:1 200\n"
        "0 keep /srv/app.js:4 126\n"
        "0 (anonymous) /srv/app.js:9 2\n"
        "3 (no JavaScript function) :0 6\n";
    EXPECT_EQ(expected, f.tree());
    g_sampler.root = &keep.node;  // what is left when all was cleaned up
    g_sampler.at_exit[0](nullptr);
    EXPECT_EQ(expected, f.tree());
    EXPECT_EQ(1, g_sampler.answers);
    EXPECT_EQ(1, g_sampler.removed);
    EXPECT_EQ(1, g_sampler.stops);
    EXPECT_EQ(0, g_sampler.scopes);
    const auto s = take(profiler::arena());
    EXPECT_EQ(2u, s->runtime_heap.runtime);
    EXPECT_EQ(9000u, s->runtime_heap.resident_bytes);
    EXPECT_EQ(8000u, s->runtime_heap.used_bytes);
    EXPECT_EQ(0u, s->runtime_heap.live_bytes);
    EXPECT_EQ(11u + 12u, s->runtime_heap.code_bytes);
    EXPECT_EQ(600u, s->runtime_heap.external_bytes);
    EXPECT_EQ(8000u, s->runtime_heap.young_bytes);
    EXPECT_EQ(1000u + 2000u, s->runtime_heap.old_bytes);
    EXPECT_EQ(4000u, s->runtime_heap.large_bytes);
  });
}

TEST(V8Heap, BeginsWhenNodeIsThere) {
  in_child([] {
    Fixture f;
    g_sampler.has_node = false;
    for (int i = 0; i < 100; ++i) {
      f.call();
    }
    EXPECT_EQ(0, g_sampler.starts);
    g_sampler.has_node = true;
    f.call();
    EXPECT_EQ(1, g_sampler.starts);
  });
  in_child([] {
    Fixture f;
    g_sampler.has_node = false;
    for (int i = 0; i < 5000; ++i) {
      f.call();
    }
    g_sampler.has_node = true;
    f.call();
    EXPECT_EQ(0, g_sampler.starts) << "a program with V8 that is not Node";
  });
}

TEST(V8Heap, IsLeftAloneWhereItIsNotWantedOrCannotBeHad) {
  in_child([] {
    Fixture f(false);
    f.call();
    f.call();
    EXPECT_EQ(0, g_sampler.starts);
  });
  in_child([] {
    Fixture f;
    leave_heap_alone();
    sample_heap(true);  // as each module that is loaded says
    f.call();
    f.call();
    EXPECT_EQ(0, g_sampler.starts);
  });
  in_child([] {
    Fixture f;
    f.with_heap.heap = {};
    f.call();
    f.call();
    EXPECT_EQ(0, g_sampler.starts);
  });
  in_child([] {
    Fixture f;
    platform::set_sandboxed(true);
    f.call();
    f.call();
    EXPECT_EQ(0, g_sampler.starts);
  });
}

TEST(V8Heap, AProgramThatEndsTheSamplingIsNotAskedAgainstItsWill) {
  in_child([] {
    Fixture f;
    f.call();
    f.call();
    g_sampler.samples = false;
    g_sampler.at_cleanup[0](nullptr);
    EXPECT_EQ(1, g_sampler.answers);
    EXPECT_EQ(0, g_sampler.removed);
    EXPECT_EQ("", f.tree());
  });
  in_child([] {
    Fixture f;
    g_sampler.is_free = false;
    f.call();
    f.call();
    g_sampler.samples = false;
    g_sampler.at_cleanup[0](nullptr);
    EXPECT_EQ(1, g_sampler.starts);
    EXPECT_EQ(0, g_sampler.stops) << "it is the program's";
  });
}

// A worker with an isolate of its own: until a second has passed, and it is asked.
void run_worker(Fixture& f, const Call& root, const std::function<void()>& then) {
  std::thread([&] {
    int isolate = 0;
    before_call(&isolate);
    before_call(&isolate);
    std::this_thread::sleep_for(std::chrono::milliseconds(1010));
    g_sampler.root = &root.node;
    for (int i = 0; i < 70; ++i) {
      before_call(&isolate);
    }
    EXPECT_EQ("0 serve /srv/app.js:9 14\n", f.tree());
    then();
  }).join();
}

TEST(V8Heap, OfAWorkerIsThereUntilTheWorkerEnds) {
  in_child([] {
    Fixture f;
    const Call keep("keep", 7, 4, {8}), serve("serve", 7, 9, {7});
    f.call();
    f.call();
    run_worker(f, serve, [&] {
      EXPECT_EQ(2, g_sampler.starts);
      g_sampler.at_cleanup[1](nullptr);
      EXPECT_EQ(1, g_sampler.stops);
      EXPECT_EQ("", f.tree());
      g_sampler.at_exit[1](nullptr);
      EXPECT_EQ(1, g_sampler.stops);
    });
    g_sampler.root = &keep.node;
    g_sampler.at_cleanup[0](nullptr);
    EXPECT_EQ("0 keep /srv/app.js:4 16\n", f.tree());
    EXPECT_EQ(2, g_sampler.stops);
  });
}

// process.exit() in the main thread, which ends the worker then.
TEST(V8Heap, OfAWorkerIsToldBesideTheMainThreads) {
  in_child([] {
    Fixture f;
    const Call keep("keep", 7, 4, {8}), serve("serve", 7, 9, {7});
    f.call();
    f.call();
    run_worker(f, serve, [] {});  // and has not ended
    g_sampler.root = &keep.node;
    g_sampler.at_exit[0](nullptr);
    const std::string expected = "0 keep /srv/app.js:4 16\n1 serve /srv/app.js:9 14\n";
    EXPECT_EQ(expected, f.tree());
    EXPECT_EQ(16000u, take(profiler::arena())->runtime_heap.used_bytes);
    EXPECT_EQ(expected, f.tree());
  });
}

TEST(V8Heap, AWorkerThatEndsBeforeItIsAskedLeavesNothing) {
  in_child([] {
    Fixture f;
    for (int i = 0; i < 200; ++i) {  // more than there are places
      std::thread([&] {
        int isolate = 0;
        before_call(&isolate);
        before_call(&isolate);
        g_sampler.at_exit.back()(nullptr);
        before_call(&isolate);
        before_call(&isolate);
      }).join();
    }
    EXPECT_EQ(200, g_sampler.starts);
    EXPECT_EQ(200, g_sampler.stops);
    EXPECT_EQ(0, g_sampler.answers);
    EXPECT_EQ("", f.tree());
  });
}

TEST(V8Heap, AChildTellsNothing) {
  in_child([] {
    Fixture f;
    Call root("keep", 7, 4, {8});
    g_sampler.root = &root.node;
    f.call();
    f.call();
    const pid_t child = fork();
    if (child == 0) {
      g_sampler.at_exit[0](nullptr);
      _exit(g_sampler.answers);
    }
    int status = -1;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
  });
}

TEST(V8Heap, IsNotAskedAtEachCall) {
  in_child([] {
    Fixture f;
    Call root("keep", 7, 4, {8});
    g_sampler.root = &root.node;
    f.call();
    for (int i = 0; i < 1000; ++i) {
      f.call();
    }
    EXPECT_EQ(0, g_sampler.answers) << "in less than a second";
  });
}

}  // namespace
}  // namespace memprof::v8::heap_test
