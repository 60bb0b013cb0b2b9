// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/isolates.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/engine/runtimes.h"
#include "tests/runtime/v8/fake_engine.h"
#include "tests/support/engine.h"

namespace memprof::v8::isolates_test {
namespace {

using fakes::added;
using fakes::FakeEngine;
using fakes::g_state;
using testing_support::in_child;

constexpr uint64_t kCode = 0x1000000;

// "function name:line" of what this thread's isolate has at an address.
std::string at(uint64_t address, bool is_return = false) {
  const Isolate* const known = isolate_of_thread(g_state.isolate);
  FoundCode found{};
  return known != nullptr && known->codes()->find(address, is_return, &found)
             ? std::string(known->codes()->name(found.name)) + ":" + std::to_string(found.line)
             : "";
}

TEST(Isolates, TheFirstCallSetsTheHandlerAndTheNextDoNot) {
  in_child([] {
    const FakeEngine engine;
    EXPECT_EQ(nullptr, isolate_of_thread(g_state.isolate));
    before_call(g_state.isolate);
    before_call(g_state.isolate);
    EXPECT_EQ(std::vector<int>{kNewCode}, g_state.options);
    ASSERT_NE(nullptr, isolate_of_thread(g_state.isolate));
    EXPECT_EQ(nullptr, isolate_of_thread(&engine)) << "another isolate";
  });
}

TEST(Isolates, CollectionsAreCountedOnceFromTheNextCallOn) {
  in_child([] {
    const FakeEngine engine;
    before_call(g_state.isolate);
    EXPECT_TRUE(g_state.collection_callbacks.empty()) << "nobody asked";
    count_collections_of_isolates();
    fakes::collect(g_state.isolate);
    EXPECT_EQ(0u, runtimes::collections());
    before_call(g_state.isolate);
    before_call(g_state.isolate);
    ASSERT_EQ(1u, g_state.collection_callbacks.size());
    EXPECT_EQ(kCollectionTypes, g_state.collection_callbacks[0].types);
    fakes::collect(g_state.isolate);
    fakes::collect(g_state.isolate);
    EXPECT_EQ(2u, runtimes::collections());
    // Another thread's isolate at the same address: the first one is gone, or says it a second time.
    std::thread([] { before_call(g_state.isolate); }).join();
    EXPECT_EQ(2u, g_state.collection_callbacks.size());
    fakes::collect(g_state.isolate);
    EXPECT_EQ(3u, runtimes::collections());
    fakes::collect(&g_state.samples);
    EXPECT_EQ(3u, runtimes::collections()) << "of an isolate that nobody knows";
  });
}

TEST(Isolates, AllCodeIsToldWhenItIsWantedAndOnce) {
  in_child([] {
    const FakeEngine engine;
    g_state.existing.push_back({added(JitCodeEvent::kBytecode, kCode, 10, "JS:~old /srv/a.js:1:2"), nullptr});
    before_call(g_state.isolate);
    EXPECT_EQ("", at(kCode));
    Isolate* const known = isolate_of_thread(g_state.isolate);
    EXPECT_FALSE(known->knows_all_code());
    known->want_all_code();
    before_call(g_state.isolate);
    before_call(g_state.isolate);
    EXPECT_EQ((std::vector<int>{kNewCode, kAllCode}), g_state.options);
    EXPECT_TRUE(known->knows_all_code());
    EXPECT_EQ("JS:old /srv/a.js:1:2:0", at(kCode));
  });
}

TEST(Isolates, PositionsOfSeveralFunctionsComeBeforeTheirNames) {
  in_child([] {
    const FakeEngine engine;
    before_call(g_state.isolate);
    fakes::tell_positions(kCode, {{0, 50}, {5, 450}});
    fakes::tell_positions(kCode + 0x100, {{0, 950}});
    fakes::tell_positions(kCode + 0x200, {});
    fakes::tell(added(JitCodeEvent::kBytecode, kCode, 10, "JS:~f /srv/a.js:1:1"));
    fakes::tell(added(JitCodeEvent::kBytecode, kCode + 0x100, 10, "JS:~g /srv/a.js:10:1"));
    fakes::tell(added(JitCodeEvent::kBytecode, kCode + 0x200, 10, "JS:~h /srv/a.js:20:1"));
    EXPECT_EQ("JS:f /srv/a.js:1:1:1", at(kCode + 4));
    EXPECT_EQ("JS:f /srv/a.js:1:1:5", at(kCode + 5));
    EXPECT_EQ("JS:g /srv/a.js:10:1:10", at(kCode + 0x100));
    EXPECT_EQ("JS:h /srv/a.js:20:1:0", at(kCode + 0x200));
  });
}

TEST(Isolates, PositionsWithoutANameAreDroppedInTheEnd) {
  in_child([] {
    const FakeEngine engine;
    before_call(g_state.isolate);
    for (uint64_t i = 0; i < 100'000; ++i) {
      fakes::tell_positions(kCode + i, {{0, 50}, {5, 450}});
    }
    fakes::tell_positions(kCode, {{0, 150}});
    fakes::tell(added(JitCodeEvent::kBytecode, kCode, 10, "JS:~f /srv/a.js:1:1"));
    EXPECT_EQ("JS:f /srv/a.js:1:1:2", at(kCode + 4));
  });
}

TEST(Isolates, OptimisedCodeHasTheLinesOfItsBytecode) {
  in_child([] {
    const FakeEngine engine;
    before_call(g_state.isolate);
    fakes::tell_positions(kCode, {{0, 50}, {5, 450}});
    fakes::tell(added(JitCodeEvent::kBytecode, kCode, 10, "JS:~f /srv/a.js:1:1"));
    fakes::tell_positions(kCode + 0x1000, {{3, 450}, {9, 777777}});
    fakes::tell(added(JitCodeEvent::kMachineCode, kCode + 0x1000, 64, "JS:*f /srv/a.js:1:1"));
    EXPECT_EQ("JS:f /srv/a.js:1:1:5", at(kCode + 0x1000 + 4, true));
    EXPECT_EQ("JS:f /srv/a.js:1:1:5", at(kCode + 0x1000 + 20, true)) << "of a function that was inlined";
  });
}

TEST(Isolates, MovesAreToldByOtherThreadsToo) {
  in_child([] {
    const FakeEngine engine;
    before_call(g_state.isolate);
    fakes::tell_positions(kCode, {{0, 50}});
    fakes::tell(added(JitCodeEvent::kBytecode, kCode, 10, "JS:~f /srv/a.js:1:1"));
    std::thread collector([] {
      JitCodeEvent event = fakes::event_of(JitCodeEvent::kMoved, JitCodeEvent::kBytecode, kCode);
      event.moved = reinterpret_cast<const void*>(kCode + 0x500);
      fakes::tell(event);
    });
    collector.join();
    EXPECT_EQ("", at(kCode));
    EXPECT_EQ("JS:f /srv/a.js:1:1:1", at(kCode + 0x500));
  });
}

TEST(Isolates, EachThreadHasItsOwn) {
  in_child([] {
    const FakeEngine engine;
    before_call(g_state.isolate);
    fakes::tell(added(JitCodeEvent::kBytecode, kCode, 10, "JS:~f /srv/a.js:1:1"));
    static int other_isolate;
    std::thread worker([] {
      EXPECT_EQ(nullptr, isolate_of_thread(g_state.isolate)) << "of the main thread";
      before_call(&other_isolate);
      ASSERT_NE(nullptr, isolate_of_thread(&other_isolate));
      FoundCode found{};
      EXPECT_FALSE(isolate_of_thread(&other_isolate)->codes()->find(kCode, false, &found));
    });
    worker.join();
    EXPECT_EQ("JS:f /srv/a.js:1:1:0", at(kCode));
  });
}

TEST(Isolates, AnIsolateAtTheAddressOfADeadOneIsNew) {
  in_child([] {
    const FakeEngine engine;
    const auto life = [] {
      before_call(g_state.isolate);
      EXPECT_EQ("", at(kCode));
      fakes::tell(added(JitCodeEvent::kBytecode, kCode, 10, "JS:~f /srv/a.js:1:1"));
      EXPECT_EQ("JS:f /srv/a.js:1:1:0", at(kCode));
    };
    std::thread(life).join();
    std::thread(life).join();
    EXPECT_EQ(2u, g_state.options.size());
  });
}

TEST(Isolates, MoreThanThereIsRoomForTakeThePlaceOfTheOldest) {
  in_child([] {
    const FakeEngine engine;
    static char isolates[kMaxIsolates + 5];
    for (char& isolate : isolates) {
      before_call(&isolate);
      ASSERT_NE(nullptr, isolate_of_thread(&isolate));
    }
    std::thread([] { EXPECT_EQ(nullptr, isolate_of_thread(&isolates[0])); }).join();
  });
}

TEST(Isolates, AForkChildKnowsItsThreadsCode) {
  in_child([] {
    const FakeEngine engine;
    before_call(g_state.isolate);
    fakes::tell(added(JitCodeEvent::kBytecode, kCode, 10, "JS:~f /srv/a.js:1:1"));
    in_child([] {
      reset_isolates_in_child();
      EXPECT_EQ("JS:f /srv/a.js:1:1:0", at(kCode));
      fakes::tell(added(JitCodeEvent::kBytecode, kCode + 16, 10, "JS:~g /srv/a.js:2:1"));
      EXPECT_EQ("JS:g /srv/a.js:2:1:0", at(kCode + 16));
    });
    EXPECT_EQ("", at(kCode + 16));
  });
}

TEST(Isolates, WithoutTheEngineNothingHappens) {
  in_child([] {
    {
      const FakeEngine engine;
    }
    before_call(&g_state);
    const JitCodeEvent event = added(JitCodeEvent::kBytecode, kCode, 10, "JS:~f /srv/a.js:1:1");
    on_code_event(&event);
    EXPECT_EQ(nullptr, isolate_of_thread(&g_state));
  });
}

}  // namespace
}  // namespace memprof::v8::isolates_test
