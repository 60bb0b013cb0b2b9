// SPDX-License-Identifier: Apache-2.0
// Import tables patched in this very process (in children of it), on libraries built in every way; one test
// for each of the traps that docs/decisions/0014 names.
#include "platform/linux/imports/import_patch.h"

#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "memprof.h"
#include "platform/imports.h"
#include "platform/linux/imports/import_table.h"
#include "platform/process.h"
#include "tests/support/engine.h"
#include "tests/support/import_fixtures.h"

namespace memprof::import_patch_test {
namespace {

using platform::ImportTable;
using platform::WantedNames;
using Library = testing_support::FixtureLibrary;
using testing_support::in_child;
using testing_support::kSanitized;
using testing_support::run_threads;
using testing_support::scaled;

void initialize(uint64_t rate_bytes = 0) {
  memprof_options options;
  ASSERT_EQ(MEMPROF_OK, memprof_options_init(&options, sizeof(options)));
  options.rate_bytes = rate_bytes;
  ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
}

void start() {
  initialize();
  ASSERT_EQ(MEMPROF_OK, memprof_start());
}

memprof_stats stats() {
  memprof_stats s;
  s.struct_size = sizeof(s);
  EXPECT_EQ(MEMPROF_OK, memprof_get_stats(&s));
  return s;
}

constexpr uint64_t kNone = UINT64_MAX;

// What is recorded of a live block: its size.
uint64_t recorded(const void* block) {
  memprof_snapshot* snapshot = nullptr;
  EXPECT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
  uint64_t count = 0;
  const memprof_record* records = memprof_snapshot_records(snapshot, &count);
  uint64_t found = kNone;
  for (uint64_t i = 0; i < count; ++i) {
    if (records[i].address == reinterpret_cast<uintptr_t>(block)) {
      EXPECT_EQ(kNone, found) << "recorded twice";
      found = records[i].size_bytes;
    }
  }
  memprof_free_snapshot(snapshot);
  return found;
}

void expect_is_seen(const Library& library) {
  void* block = library.allocate(1009);
  EXPECT_EQ(1009u, recorded(block)) << library.path;
  library.free(block);
  EXPECT_EQ(kNone, recorded(block)) << library.path;
  block = library.get<void* (*)(size_t, size_t)>("fixture_calloc")(3, 1013);
  EXPECT_EQ(3039u, recorded(block)) << library.path;
  void* moved = library.get<void* (*)(void*, size_t)>("fixture_realloc")(block, 50021);
  EXPECT_EQ(50021u, recorded(moved)) << library.path;
  if (moved != block) {
    EXPECT_EQ(kNone, recorded(block));
  }
  library.free(moved);
}

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

// The slots of a module for one name.
std::vector<uint64_t*> slots(const std::string& path, const char* name) {
  std::vector<uint64_t*> found;
  const WantedNames wanted{&name, 1};
  testing_support::with_module(path, [&](const dl_phdr_info& info) {
    ImportTable(info, wanted).each_slot([&](const ImportTable::Slot& slot) {
      found.push_back(reinterpret_cast<uint64_t*>(slot.address));
    });
  });
  return found;
}

// What malloc is for the program, without any slot.
void* plain_malloc(size_t size) {
  return reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_DEFAULT, "malloc"))(size);
}
void plain_free(void* block) {
  reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "free"))(block);
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

// Trap 7: a sampled block is freed through a pointer that was taken before, and its address is given out
// again.
TEST(ImportPatch, AStaleRecordIsReplacedAndCounted) {
  if (kSanitized) {
    GTEST_SKIP() << "their allocators do not give an address out again";
  }
  in_child([] {
    const Library library("now");
    start();
    EXPECT_EQ(0u, stats().replaced_samples);
    void* block = library.allocate(40001);
    plain_free(block);
    void* again = library.allocate(40001);
    ASSERT_EQ(block, again);
    EXPECT_EQ(1u, stats().replaced_samples);
    EXPECT_EQ(40001u, recorded(again));
    library.free(again);
    EXPECT_EQ(kNone, recorded(again));
  });
}

// Every mprotect fails from here on.
void forbid_mprotect() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof(code) / sizeof(code[0]), code};
  ASSERT_EQ(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  ASSERT_EQ(0, prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

// A child that shuts itself in before its first allocation would be ended by our first work in it.
TEST(ImportPatch, AFilterOfSystemCallsIsSeenBeforeItIsLoaded) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer has a prctl of its own";
  }
  in_child([] {
    memprof_options options;
    ASSERT_EQ(MEMPROF_OK, memprof_options_init(&options, sizeof(options)));
    options.rate_bytes = 0;
    options.follow_fork = 1;
    ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
    const Library library("now");
    ASSERT_EQ(MEMPROF_OK, memprof_start());
    in_child([&] {
      forbid_mprotect();
      EXPECT_TRUE(platform::is_sandboxed());
      void* block = library.allocate(1009);
      EXPECT_EQ(1009u, recorded(block)) << "the child's tables were made before";
      library.free(block);
    });
    EXPECT_FALSE(platform::is_sandboxed());
  });
}

// Trap 8: slots in read-only pages stay where mprotect is refused; the others are patched, and all is told.
TEST(ImportPatch, WhatTheSystemRefusesIsSkippedAndSaid) {
  if (kSanitized) {
    GTEST_SKIP() << "their allocators call mprotect";
  }
  in_child([] {
    const Library open("lazy");
    const Library closed("now");
    forbid_mprotect();
    start();
    expect_is_seen(open);
    void* block = closed.allocate(1009);
    EXPECT_EQ(kNone, recorded(block));
    closed.free(block);
    const memprof_stats s = stats();
    EXPECT_LE(4u, s.import_refused);
    EXPECT_LE(4u, s.import_patched);
    const int64_t length = memprof_describe_imports(nullptr, 0);
    ASSERT_LT(0, length);
    std::string text(static_cast<size_t>(length) + 1, 'x');
    EXPECT_EQ(length, memprof_describe_imports(text.data(), text.size()));
    EXPECT_EQ('\0', text.back());
    EXPECT_NE(std::string::npos, text.find(closed.path + ": refused ")) << text;
    EXPECT_EQ(std::string::npos, text.find(open.path)) << text;
    EXPECT_EQ(text.substr(0, 4095).c_str(), std::string(platform::imports_note()));
    char little[8];
    EXPECT_EQ(length, memprof_describe_imports(little, sizeof(little)));
    EXPECT_EQ('\0', little[7]);
  });
}

TEST(ImportPatch, NothingIsPatchedBeforeTheStartOrInAForkChild) {
  in_child([] {
    const Library library("now");
    initialize();
    library.free(library.allocate(100));
    EXPECT_EQ(0u, stats().samples);
    EXPECT_EQ(0u, stats().import_patched);
    EXPECT_EQ(uint64_t{MEMPROF_HOOKS_NONE}, stats().hooks);
    ASSERT_EQ(MEMPROF_OK, memprof_start());
    EXPECT_EQ(uint64_t{MEMPROF_HOOKS_IMPORTS}, stats().hooks);
    in_child([&] {
      EXPECT_EQ(MEMPROF_ERR_FORKED, memprof_start());
      const Library later("lazy");
      void* block = later.allocate(1009);
      for (uint64_t* slot : slots(later.path, "malloc")) {
        EXPECT_TRUE(*slot == reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "malloc")) ||
                    *slot - reinterpret_cast<uint64_t>(slot) < 1 << 20 ||
                    reinterpret_cast<uint64_t>(slot) - *slot < 1 << 20);
      }
      later.free(block);
      library.free(library.allocate(100));
    });
    expect_is_seen(library);
  });
}

TEST(ImportPatch, AConstructorOfALibraryMayStartIt) {
  in_child([] {
    start();
    EXPECT_EQ(MEMPROF_OK, memprof_stop());
    const Library library("now");  // loaded while stopped: the next start sees it
    EXPECT_EQ(MEMPROF_OK, memprof_start());
    expect_is_seen(library);
  });
}

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
