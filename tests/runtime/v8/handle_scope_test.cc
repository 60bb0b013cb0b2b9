// SPDX-License-Identifier: Apache-2.0
// With an isolate of the tests: words, some of which are what V8 has of its handles.
#include "runtime/v8/handle_scope.h"

#include <gtest/gtest.h>

#include "tests/support/engine.h"

namespace memprof::v8::handle_scope_test {
namespace {

using testing_support::in_child;

constexpr size_t kWords = 512;
constexpr size_t kPlace = 80;

struct Isolate {
  uint64_t words[kWords] = {};
  HandleScopeData& data(size_t place = kPlace) { return *reinterpret_cast<HandleScopeData*>(words + place); }
};
Isolate g_isolate;
uint64_t g_handles[32];
int g_extensions = 0;
size_t g_sealed = kPlace;

// As V8's of these names do it.
const HeapFunctions kSealing = [] {
  HeapFunctions heap{};
  heap.begin_seal = [](SealHandleScope* scope, void* isolate) {
    HandleScopeData& data = static_cast<Isolate*>(isolate)->data(g_sealed);
    scope->limit = data.limit;
    scope->sealed_level = data.sealed_level;
    data.limit = data.next;
    data.sealed_level = data.level;
  };
  heap.end_seal = [](SealHandleScope* scope) {
    g_isolate.data(g_sealed).limit = scope->limit;
    g_isolate.data(g_sealed).sealed_level = scope->sealed_level;
  };
  heap.delete_extensions = [](HandleScope*, void*) { ++g_extensions; };
  return heap;
}();

void fill() {
  for (size_t i = 0; i < kWords; ++i) {
    g_isolate.words[i] = i * 1000;
  }
  g_isolate.data() = {g_handles + 3, g_handles + 30, 2, 0};
}

TEST(V8HandleScope, IsFoundByWhatASealChanges) {
  in_child([] {
    fill();
    ASSERT_TRUE(has_handle_scopes(kSealing, &g_isolate));
    {
      const Scope outer(kSealing, &g_isolate);
      EXPECT_EQ(3, g_isolate.data().level);
      g_isolate.data().next = g_handles + 7;
      {
        const Scope inner(kSealing, &g_isolate);
        EXPECT_EQ(4, g_isolate.data().level);
        g_isolate.data().next = g_handles + 9;
      }
      EXPECT_EQ(g_handles + 7, g_isolate.data().next);
    }
    EXPECT_EQ(2, g_isolate.data().level);
    EXPECT_EQ(g_handles + 3, g_isolate.data().next);
    EXPECT_EQ(g_handles + 30, g_isolate.data().limit);
    EXPECT_EQ(0, g_isolate.data().sealed_level);
    EXPECT_EQ(0, g_extensions);
    for (size_t i = 0; i < kWords; ++i) {
      const bool is_data = i >= kPlace && i < kPlace + sizeof(HandleScopeData) / sizeof(uint64_t);
      EXPECT_TRUE(is_data || g_isolate.words[i] == i * 1000) << i;
    }
  });
}

TEST(V8HandleScope, MoreBlocksOfHandlesAreLetGo) {
  in_child([] {
    fill();
    ASSERT_TRUE(has_handle_scopes(kSealing, &g_isolate));
    {
      const Scope scope(kSealing, &g_isolate);
      g_isolate.data().next = g_handles + 1;
      g_isolate.data().limit = g_handles + 2;
    }
    EXPECT_EQ(1, g_extensions);
    EXPECT_EQ(g_handles + 30, g_isolate.data().limit);
  });
}

TEST(V8HandleScope, WhereItIsNotSureThereIsNone) {
  in_child([] {
    fill();
    g_isolate.data().limit = g_isolate.data().next;
    EXPECT_FALSE(has_handle_scopes(kSealing, &g_isolate)) << "a seal changes nothing";
    fill();
    g_isolate.data().level = 0;
    EXPECT_FALSE(has_handle_scopes(kSealing, &g_isolate)) << "no scope is open";
    fill();
    g_sealed = 300;
    g_isolate.data(g_sealed) = g_isolate.data();
    EXPECT_FALSE(has_handle_scopes(kSealing, &g_isolate)) << "too far from the start";
    g_sealed = kPlace;
    EXPECT_TRUE(has_handle_scopes(kSealing, &g_isolate)) << "later it may be";
  });
}

TEST(V8HandleScope, AnExportedOneIsUsed) {
  HeapFunctions heap = kSealing;
  heap.begin_scope = [](HandleScope*, void* isolate) { ++static_cast<Isolate*>(isolate)->words[0]; };
  heap.end_scope = [](HandleScope*) { --g_isolate.words[0]; };
  fill();
  ASSERT_TRUE(has_handle_scopes(heap, &g_isolate));
  {
    const Scope scope(heap, &g_isolate);
    EXPECT_EQ(1u, g_isolate.words[0]);
    EXPECT_EQ(2, g_isolate.data().level);
  }
  EXPECT_EQ(0u, g_isolate.words[0]);
}

}  // namespace
}  // namespace memprof::v8::handle_scope_test
