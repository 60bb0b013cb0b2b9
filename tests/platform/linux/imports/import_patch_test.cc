// SPDX-License-Identifier: Apache-2.0
// Import tables patched in this very process (in children of it), on libraries built in every way; one test
// for each of the traps that docs/decisions/0014 names.
#include "platform/linux/imports/import_patch.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "memprof.h"
#include "platform/linux/imports/import_table.h"
#include "tests/platform/linux/imports/patched_libraries.h"
#include "tests/support/engine.h"
#include "tests/support/import_fixtures.h"

namespace memprof::import_patch_test {
namespace {

// Start and permissions of every mapping of a file.
std::map<std::string, std::string> permissions(const std::string& file) {
  std::map<std::string, std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file) != std::string::npos) {
      found[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1, 4);
    }
  }
  return found;
}

// ---- Every way to import

class ImportPatchOf : public testing::TestWithParam<const char*> {};

TEST_P(ImportPatchOf, AnImportOfALibraryThatWasLoadedBefore) {
  in_child([] {
    const Library library(GetParam());
    start();
    expect_is_seen(library);
    // Tables that hold the function are patched, those that the program may write to as well.
    const auto* constant = library.get<void* (*const*)(size_t)>("fixture_constant_table");
    const auto* table = library.get<void* (**)(size_t)>("fixture_table");
    if (std::string(GetParam()) != "lazy") {  // it has no read-only data
      void* block = constant[0](2003);
      EXPECT_EQ(2003u, recorded(block));
      library.free(block);
    }
    void* block = table[0](2011);
    EXPECT_EQ(2011u, recorded(block)) << "a writable table";
    library.free(block);
  });
}

// What the program has stored in a table stays, and nothing is said of it.
TEST(ImportPatch, AVariableThatTheProgramChangedIsItsOwn) {
  in_child([] {
    const Library library("now");
    auto* table = library.get<void* (**)(size_t)>("fixture_table");
    table[0] = plain_malloc;
    start();
    EXPECT_EQ(&plain_malloc, table[0]);
    EXPECT_EQ(0u, stats().import_foreign);
    table[0] = nullptr;
    EXPECT_EQ(MEMPROF_OK, memprof_rescan_imports());
    EXPECT_EQ(nullptr, table[0]);
    EXPECT_EQ(0u, stats().import_unbound);
  });
}

TEST_P(ImportPatchOf, ALibraryThatIsLoadedLater) {
  in_child([] {
    start();
    const Library library(GetParam());
    expect_is_seen(library);  // its name was looked up with dlsym: that is when it is noticed
    const uint64_t patched = stats().import_patched;
    EXPECT_EQ(MEMPROF_OK, memprof_rescan_imports());
    EXPECT_EQ(patched, stats().import_patched);
  });
}

TEST_P(ImportPatchOf, ProtectionIsPutBackAsItWas) {
  in_child([] {
    const Library library(GetParam());
    const auto before = permissions(library.path);
    const auto libc_before = permissions("libc.so");
    ASSERT_FALSE(before.empty());
    start();
    EXPECT_EQ(before, permissions(library.path));
    EXPECT_EQ(libc_before, permissions("libc.so"));
  });
}

TEST_P(ImportPatchOf, BlocksCrossFromBeforeAndFromOutside) {
  in_child([] {
    const Library library(GetParam());
    void* before = library.allocate(100);
    void* kept = library.allocate(100);
    void* (*const pointer)(size_t) = library.get<void* (*)(size_t)>("fixture_malloc");
    start();
    library.free(before);  // one filter miss
    void* ours = pointer(1009);
    EXPECT_EQ(1009u, recorded(ours));
    plain_free(ours);  // the record is stale now
    library.free(plain_malloc(50));
    kept = library.get<void* (*)(void*, size_t)>("fixture_realloc")(kept, 3001);
    EXPECT_EQ(3001u, recorded(kept));
    plain_free(kept);
    EXPECT_EQ(MEMPROF_OK, memprof_stop());
    library.free(library.allocate(10));
    EXPECT_EQ(MEMPROF_OK, memprof_start());
    expect_is_seen(library);
  });
}

constexpr const char* kFixtures[] = {
    "lazy", "lazy_relro", "now", "no_plt", "sysv_hash",
#if defined(MEMPROF_HAS_RELR)
    "relr",
#endif
};
INSTANTIATE_TEST_SUITE_P(Fixtures, ImportPatchOf, testing::ValuesIn(kFixtures),
                         [](const auto& fixture) { return std::string(fixture.param); });

// ---- Traps

// Trap 1: what leads elsewhere stays. The block would meet the wrong free.
TEST(ImportPatch, AModuleWithAnAllocatorOfItsOwnKeepsIt) {
  in_child([] {
    const Library library("symbolic");
    void* early = library.allocate(100);
    const uint64_t pool = reinterpret_cast<uint64_t>(early);
    start();
    void* block = library.allocate(100);
    EXPECT_LT(reinterpret_cast<uint64_t>(block) - pool, uint64_t{1 << 16}) << "another allocator's";
    EXPECT_EQ(kNone, recorded(block));
    library.free(block);
    library.free(early);
  });
}

// Traps 1 and 2: with RTLD_DEEPBIND a library prefers the allocator that it needs, also for slots that are
// not bound yet: those are left, and said.
TEST(ImportPatch, DeepBindingIsRespected) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizers refuse RTLD_DEEPBIND";
  }
  for (const char* name : {"deep_now", "deep_lazy"}) {
    in_child([name] {
      const Library allocator("libfixture_allocator");
      const Library library(name, RTLD_LAZY | RTLD_DEEPBIND);
      const uint64_t pool = reinterpret_cast<uint64_t>(allocator.get<void* (*)(size_t)>("malloc")(16));
      start();
      EXPECT_LT(0u, stats().import_foreign);
      EXPECT_EQ(0u, stats().import_unbound) << "the loader was asked";
      char text[4096];
      EXPECT_LT(0, memprof_describe_imports(text, sizeof(text)));
      EXPECT_NE(nullptr, strstr(text, library.path.c_str())) << text;
      void* block = library.allocate(100);
      EXPECT_LT(reinterpret_cast<uint64_t>(block) - pool, uint64_t{1 << 16}) << name;
      EXPECT_EQ(kNone, recorded(block));
      library.free(block);
      EXPECT_EQ(MEMPROF_OK, memprof_rescan_imports());
      block = library.allocate(100);
      EXPECT_LT(reinterpret_cast<uint64_t>(block) - pool, uint64_t{1 << 16}) << name;
      library.free(block);
    });
  }
}

// The same library, opened without RTLD_DEEPBIND, is bound to the process's malloc.
TEST(ImportPatch, AnotherAllocatorInTheProcessDoesNotMatter) {
  for (const char* name : {"deep_now", "deep_lazy"}) {
    in_child([name] {
      const Library library(name);
      start();
      expect_is_seen(library);
    });
  }
}

// Trap 3: a thread that was binding the slot while it was patched writes the real function over the hook.
TEST(ImportPatch, ASlotThatWasLostIsTakenAgain) {
  in_child([] {
    const Library library("lazy");
    start();
    const std::vector<uint64_t*> found = slots(library.path, "malloc");
    ASSERT_FALSE(found.empty());
    bool had_hook = false;
    for (uint64_t* slot : found) {
      had_hook = had_hook || *slot != reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "malloc"));
      *slot = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "malloc"));
    }
    EXPECT_TRUE(had_hook);
    void* block = library.allocate(1009);
    EXPECT_EQ(kNone, recorded(block));
    library.free(block);
    EXPECT_EQ(MEMPROF_OK, memprof_rescan_imports());
    expect_is_seen(library);
  });
}

// The same, of a slot that was not bound at the start; a sample is enough to take it back.
TEST(ImportPatch, ASlotOfTheProgramThatWasLostIsTakenAgainByASample) {
  in_child([] {
    const Library library("now");
    // Nobody has called it: bound lazily, it is not bound yet.
    if (library.handle == nullptr) ::free(::pvalloc(1));
    const std::vector<uint64_t*> found = slots("", "pvalloc");
    ASSERT_EQ(1u, found.size());
    const uint64_t real = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "pvalloc"));
    if (*found[0] == real) {
      GTEST_SKIP() << "this program is bound at its start";
    }
    start();
    const uint64_t hook = *found[0];
    EXPECT_NE(real, hook);
    *found[0] = real;  // as the loader's resolver does it
    // The next look is at the latest after a quarter of the time since the start.
    for (int i = 0; i < 1000000 && *found[0] == real; ++i) {
      library.free(library.allocate(100));
    }
    EXPECT_EQ(hook, *found[0]);
  });
}

// Trap 5 and lesson 9: a library that is gone is not written to; nor is the next one at its addresses taken
// for it.
TEST(ImportPatch, ALibraryThatWasUnloadedIsForgotten) {
  in_child([] {
    for (int i = 0; i < static_cast<int>(scaled(400)); ++i) {
      const Library library(i % 2 == 0 ? "lazy" : "now");
      if (i == 2) {
        library.close();
        start();
        continue;
      }
      void* block = library.allocate(1009);
      EXPECT_EQ(i > 2 ? 1009u : kNone, i > 2 ? recorded(block) : kNone) << i;
      library.free(block);
      library.close();
    }
  });
}

TEST(ImportPatch, ALibraryIsNoticedAtTheNextDlclose) {
  in_child([] {
    start();
    void* other = dlopen("libm.so.6", RTLD_NOW);
    const Library library("now");
    const std::vector<uint64_t*> of_malloc = slots(library.path, "malloc");
    ASSERT_FALSE(of_malloc.empty());
    const uint64_t before = *of_malloc[0];
    EXPECT_EQ(0, dlclose(other));
    EXPECT_NE(before, *of_malloc[0]);
    expect_is_seen(library);
  });
}

// A pass comes while the loader is relocating a library: what is not ready is left alone and seen to later.
TEST(ImportPatch, ALibraryThatIsBeingRelocatedIsLeftAlone) {
  for (const char* name : {"half_now", "half_lazy"}) {
    in_child([name] {
      const Library resolver("libfixture_resolver");
      start();
      static int calls;
      calls = 0;
      *resolver.get<void (**)()>("resolver_callback") = [] {
        ++calls;
        EXPECT_EQ(MEMPROF_OK, memprof_rescan_imports());
        dlsym(RTLD_DEFAULT, "malloc");
      };
      const auto before = permissions("libc.so");
      const Library library(name);
      EXPECT_LT(0, calls) << "the loader did not ask in between";
      EXPECT_EQ(2, library.get<int (*)()>("fixture_call_resolved")());
      expect_is_seen(library);
      EXPECT_EQ(before, permissions("libc.so"));
      for (const auto& [range, permission] : permissions(library.path)) {
        EXPECT_NE("rwxp", permission) << range;
      }
    });
  }
}

// Trap 6: dlsym keeps its caller: RTLD_NEXT is asked from where the program called.
TEST(ImportPatch, TheLoaderSeesItsRealCaller) {
  in_child([] {
    void* before = dlsym(RTLD_NEXT, "malloc");
    start();
    ASSERT_EQ(before, dlsym(RTLD_NEXT, "malloc"));
    Dl_info info;
    EXPECT_NE(0, dladdr(reinterpret_cast<void*>(&stats), &info));
    EXPECT_EQ(nullptr, dlopen("no such library.so", RTLD_NOW));
    EXPECT_NE(nullptr, strstr(dlerror(), "no such library.so"));
    EXPECT_EQ(nullptr, dlvsym(RTLD_DEFAULT, "malloc", "NO_SUCH_VERSION"));
  });
}

}  // namespace
}  // namespace memprof::import_patch_test
