// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/unseen_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile::unseen_heap_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint64_t kMiB = 1 << 20;

// 60 MiB, of which 10 are files.
ProfileFacts facts() {
  ProfileFacts facts;
  facts.peak_resident_bytes = 60 * kMiB;
  facts.peak_files_bytes = 10 * kMiB;
  return facts;
}

ResidentMemory parts() {
  ResidentMemory m;
  m.total_bytes = 60 * kMiB;
  m.files_bytes = 8 * kMiB;
  m.shared_bytes = 2 * kMiB;
  m.memprof_bytes = kMiB;
  m.stacks_bytes = kMiB;
  m.heap_bytes = 12 * kMiB;
  m.live_bytes = 4 * kMiB;
  m.free_bytes = 6 * kMiB;
  m.state = kResidentFreeKnown;
  return m;
}

uint64_t unseen_mib(const ProfileFacts& facts, const ResidentMemory& resident, double seen_mib) {
  return find_unseen_heap(facts, resident, seen_mib * kMiB, {}, false, false).unseen_bytes / kMiB;
}

TEST(UnseenHeap, IsWhatBlocksDoNotExplain) {
  EXPECT_EQ(47u, unseen_mib(facts(), {}, 3));
  EXPECT_EQ(26u, unseen_mib(facts(), {}, 24));
  EXPECT_EQ(0u, unseen_mib(facts(), {}, 25)) << "half";
  EXPECT_EQ(38u, unseen_mib(facts(), parts(), 3))
      << "what is kept free is explained, and stacks, and memprof";
  ResidentMemory silent = parts();
  silent.state = 0;
  EXPECT_EQ(36u, unseen_mib(facts(), silent, 3)) << "an allocator that does not say what it keeps";
  EXPECT_EQ(26u, unseen_mib(facts(), parts(), 22)) << "at the peak it had more than at the end";
  ResidentMemory cut = parts();
  cut.state |= kResidentHeapCut;
  EXPECT_EQ(0u, unseen_mib(facts(), cut, 3)) << "nobody looked at what it is";
}

TEST(UnseenHeap, IsNothingWhereItIsNotKnownOrLittle) {
  EXPECT_EQ(0u, unseen_mib({}, {}, 0));
  ProfileFacts unknown = facts();
  unknown.peak_files_bytes = 0;
  EXPECT_EQ(0u, unseen_mib(unknown, {}, 0)) << "all of it may be files";
  ProfileFacts inherited = facts();
  inherited.peak_resident_bytes = 5 * kMiB;
  inherited.max_resident_bytes = 60 * kMiB;
  EXPECT_EQ(0u, unseen_mib(inherited, {}, 0)) << "of the program that executed this one";
  ProfileFacts small = facts();
  small.peak_resident_bytes = 17 * kMiB;
  EXPECT_EQ(0u, unseen_mib(small, {}, 0));
}

UnseenHeap of(const std::vector<std::string>& files, ResidentRuntime runtime = ResidentRuntime::kNone,
              bool has_mappings = false, bool has_js = false) {
  ResidentMemory resident = parts();
  resident.runtime = static_cast<uint64_t>(runtime);
  return find_unseen_heap(facts(), resident, 0, files, has_mappings, has_js);
}

TEST(UnseenHeap, HasTheNameOfItsRuntime) {
  EXPECT_EQ("LuaJIT's heap", of({"luajit"}).owner);
  EXPECT_EQ("LuaJIT's heap", of({"nginx", "/usr/lib/libluajit-5.1.so.2"}).owner);
  EXPECT_EQ("PHP's heap", of({"/usr/bin/php8.2"}).owner);
  EXPECT_THAT(of({"apache2", "/usr/lib/apache2/modules/libphp8.2.so"}).way_out,
              HasSubstr("USE_ZEND_ALLOC=0"));
  EXPECT_EQ("V8's heap", of({"node"}, ResidentRuntime::kV8).owner);
  EXPECT_EQ("--metric js lists its objects", of({"node"}, ResidentRuntime::kV8, false, true).way_out);
  EXPECT_THAT(of({"node"}, ResidentRuntime::kV8).way_out, HasSubstr("docs/node.md"));
  EXPECT_EQ("the JVM's heap", of({"java", "/jvm/libjvm.so"}, ResidentRuntime::kJvm).owner);
  EXPECT_EQ("Go's heap", of({"server"}, ResidentRuntime::kGo).owner);
  EXPECT_THAT(of({"firefox-esr", "/usr/lib/firefox-esr/libxul.so"}).way_out, HasSubstr("about:memory"));
  EXPECT_THAT(of({"WebKitWebProcess", "/usr/lib/libjavascriptcoregtk-4.1.so.0"}).way_out,
              HasSubstr("Malloc=1"));
  EXPECT_EQ("the guest's memory", of({"/usr/bin/qemu-system-x86_64"}).owner);
  EXPECT_EQ("InnoDB's buffer pool", of({"mariadbd"}).owner);
  EXPECT_EQ("", of({"server", "/usr/lib/libm.so.6"}).owner);
  EXPECT_THAT(of({"server"}).way_out, HasSubstr("--mmap"));
  EXPECT_EQ("", of({"server"}, ResidentRuntime::kNone, true).way_out) << "they were recorded";
}

// By the names that the programs and libraries of these have, and what each of them has to say of its memory.
TEST(UnseenHeap, HasAWayOutThatItsRuntimeHas) {
  EXPECT_THAT(of({"dart"}).way_out, HasSubstr("Dart DevTools"));
  EXPECT_THAT(of({"qemu-system-x86_64"}).way_out, HasSubstr("-m"));
  EXPECT_THAT(of({"mariadbd"}).way_out, HasSubstr("SHOW ENGINE INNODB STATUS"));
  EXPECT_THAT(of({"chromium"}).way_out, HasSubstr("chrome://tracing"));
  EXPECT_THAT(of({"clickhouse-server"}).way_out, HasSubstr("system.asynchronous_metrics"));
  const UnseenHeap chdb = of({"python3.11", "/venv/lib/python3.11/site-packages/chdb/_chdb.abi3.so"});
  EXPECT_EQ("ClickHouse's allocator", chdb.owner);
  EXPECT_THAT(chdb.way_out, HasSubstr("--mmap")) << "it has no table of that name: it is no server";
  EXPECT_EQ("", of({"python3.11", "/chdb/_chdb.abi3.so"}, ResidentRuntime::kNone, true).way_out);
}

TEST(UnseenHeap, OfAProcessWithoutASample) {
  EXPECT_EQ("", unsampled_memory_text(15 * kMiB, "luajit", false));
  EXPECT_EQ(
      "96.0 MiB in memory, code and files included (LuaJIT's heap is not malloc's; collectgarbage('count') says "
      "its size)",
      unsampled_memory_text(96 * kMiB, "luajit", false));
  EXPECT_THAT(unsampled_memory_text(96 * kMiB, "server", false),
              HasSubstr("(memprof run --mmap shows who maps it)"));
  EXPECT_EQ(
      "96.0 MiB in memory, code and files included (SpiderMonkey's heap is not malloc's; memprof run --mmap shows who "
      "maps it)",
      unsampled_memory_text(96 * kMiB, "libmozjs", false));
}

TEST(UnseenHeap, OfAProcessWithoutASampleWhoseMappingsWereRecorded) {
  EXPECT_EQ("96.0 MiB in memory, code and files included (memprof report --mmap lists who maps it)",
            unsampled_memory_text(96 * kMiB, "server", true));
  EXPECT_EQ(
      "96.0 MiB in memory, code and files included (LuaJIT's heap is not malloc's; memprof report --mmap lists who "
      "maps it)",
      unsampled_memory_text(96 * kMiB, "luajit", true));
}

TEST(UnseenHeap, OfLibrariesThatBypassMalloc) {
  EXPECT_EQ("", bypassing_text(0));
  EXPECT_EQ("what 1 library allocates with another malloc (opened by dlmopen or with RTLD_DEEPBIND)",
            bypassing_text(1));
  EXPECT_THAT(bypassing_text(2), StartsWith("what 2 libraries allocate "));
}

TEST(UnseenHeap, AsText) {
  EXPECT_EQ("", unseen_heap_text({}));
  EXPECT_EQ(
      "48.0 MiB of 50.0 MiB anonymous memory (PHP's heap is not malloc's; USE_ZEND_ALLOC=0 in its environment "
      "makes PHP use malloc)",
      unseen_heap_text(
          {48 * kMiB, 50 * kMiB, "PHP's heap", "USE_ZEND_ALLOC=0 in its environment makes PHP use malloc"}));
  EXPECT_EQ(
      "48.0 MiB of 50.0 MiB anonymous memory (mapped by the program, or of an allocator that is not hooked)",
      unseen_heap_text({48 * kMiB, 50 * kMiB, "", ""}));
}

TEST(UnseenHeap, WhoseMappingsMayBeIsKnownByTheProgramAndItsLibraries) {
  Profile profile;
  EXPECT_EQ("", likely_runtime_heap(profile));
  profile.program = "app";
  profile.mappings.emplace_back().path = "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2";
  EXPECT_EQ("Ruby's heap", likely_runtime_heap(profile));
  Profile haskell;
  haskell.functions.emplace_back().name = "hs_main";
  EXPECT_EQ("Haskell's heap", likely_runtime_heap(haskell));
}

TEST(UnseenHeap, OfAProfileByTheUpperEndOfItsEstimate) {
  report_fixture::Builder b(65536);
  b.stack({b.at("f")}, 1000, 100, 100);  // 6.3 MiB
  static_cast<ProfileFacts&>(b.profile()) = facts();
  EXPECT_THAT(unseen_heap_text(unseen_heap(b.profile())), StartsWith("42."));
  EXPECT_EQ("", unseen_heap(b.profile()).owner);
  b.at("hs_main");
  EXPECT_EQ("Haskell's heap", unseen_heap(b.profile()).owner) << "in the program itself";
  b.profile().from_memprof = false;
  EXPECT_FALSE(unseen_heap(b.profile()).is_known());
}

}  // namespace
}  // namespace memprof::profile::unseen_heap_test
