// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/unseen_heap.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/affixes.h"
#include "profile/memory/resident_text.h"
#include "profile/model/estimate.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

// Below it the stacks, tables and pages of zeros of any process are a large part.
constexpr uint64_t kMinBytes = uint64_t{8} << 20;

constexpr const char* kByMappings = "memprof run --mmap shows who maps it";
constexpr const char* kInMappings = "memprof report --mmap lists who maps it";

// First match; a library comes before the program that could be anything's.
constexpr RuntimeHeap kRuntimeHeaps[] = {
    {"libphp", "PHP's heap", "USE_ZEND_ALLOC=0 in its environment makes PHP use malloc"},
    {"php", "PHP's heap", "USE_ZEND_ALLOC=0 in its environment makes PHP use malloc"},
    {"libluajit", "LuaJIT's heap", "collectgarbage('count') says its size"},
    {"luajit", "LuaJIT's heap", "collectgarbage('count') says its size"},
    {"libjvm.so", "the JVM's heap", "jcmd PID GC.class_histogram lists its objects"},
    {"libcoreclr.so", ".NET's heap", "dotnet-gcdump lists its objects"},
    {"libmono", "Mono's heap", "mono --profile=log records its objects"},
    {"mono", "Mono's heap", "mono --profile=log records its objects"},
    {"libjulia", "Julia's heap", "Profile.take_heap_snapshot() writes its objects"},
    {"libpypy", "PyPy's heap", "gc.get_stats() says its size"},
    {"pypy", "PyPy's heap", "gc.get_stats() says its size"},
    {"sbcl", "SBCL's heap", "(room) lists its objects"},
    {"racket", "Racket's heap", "(dump-memory-stats) lists its objects"},
    {"libguile", "Guile's heap", "(gc-stats) says its size"},
    {"guile", "Guile's heap", "(gc-stats) says its size"},
    {"libHSrts", "Haskell's heap", "+RTS -hT profiles it"},
    {"ghc", "Haskell's heap", "+RTS -hT profiles it"},
    {"libruby", "Ruby's heap", "ObjectSpace.dump_all lists its objects"},
    {"ruby", "Ruby's heap", "ObjectSpace.dump_all lists its objects"},
    {"libgc.so", "the heap of the Boehm collector", "GC_dump() says its size"},
    {"cc1", "GCC's own heap", "-fmem-report says its parts"},
    {"lto1", "GCC's own heap", "-fmem-report says its parts"},
    {"tarantool", "Tarantool's heap", "box.slab.info() and collectgarbage('count') say its size"},
    {"libswipl", "SWI-Prolog's stacks", "statistics/0 says their size"},
    {"beam.smp", "Erlang's heap", "erlang:memory() says its parts"},
    {"clickhouse", "ClickHouse's allocator", "its table system.asynchronous_metrics has jemalloc's counts"},
    {"_chdb", "ClickHouse's allocator", ""},  // system.asynchronous_metrics is there in servers only
    {"libxul.so", "the heap of Firefox's JavaScript", "about:memory lists its objects"},
    {"libmozjs", "SpiderMonkey's heap", ""},
    {"chrome", "memory of Chromium's own allocators",
     "its Task Manager and chrome://tracing (memory-infra) list it"},
    {"chromium", "memory of Chromium's own allocators",
     "its Task Manager and chrome://tracing (memory-infra) list it"},
    {"libjavascriptcoregtk", "WebKit's heap", "Malloc=1 in its environment makes WebKit use malloc"},
    {"dart", "Dart's heap", "Dart DevTools lists its objects"},
    {"qemu-system-", "the guest's memory", "its size is that of -m"},
    {"mariadbd", "InnoDB's buffer pool", "SHOW ENGINE INNODB STATUS says its size"},
    {"mysqld", "InnoDB's buffer pool", "SHOW ENGINE INNODB STATUS says its size"},
};

// Of one that has none of its own, what is there for all.
const char* own_way_out(const RuntimeHeap& heap) {
  return heap.way_out[0] != '\0' ? heap.way_out : kByMappings;
}

std::string not_mallocs(const std::string& owner) {
  return owner + " is not malloc's";
}

std::string with_way_out(const std::string& found, const std::string& way_out) {
  return way_out.empty() ? found : found + "; " + way_out;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// By what its map says; a program that is linked statically has no library to know it by.
void set_owner(const ResidentMemory& resident, const std::vector<std::string>& files, bool has_mappings,
               bool has_js, UnseenHeap* unseen) {
  unseen->way_out = has_mappings ? "" : kByMappings;
  const auto runtime = static_cast<ResidentRuntime>(resident.runtime);
  const uint64_t buffers = mapped_buffer_bytes(resident);
  if (runtime == ResidentRuntime::kV8 && buffers > resident.js_bytes) {
    unseen->owner = "memory of WebAssembly and resizable ArrayBuffers";
    return;
  }
  if (runtime == ResidentRuntime::kV8) {
    unseen->way_out = has_js ? "--metric js lists its objects" : "docs/node.md says how its objects are seen";
  } else if (runtime == ResidentRuntime::kGo) {
    unseen->way_out = "runtime/pprof profiles it";
  }
  unseen->owner = runtime_heap_name(resident);
  const RuntimeHeap* const known = runtime_heap_of(files);
  if (known == nullptr || runtime == ResidentRuntime::kV8 || runtime == ResidentRuntime::kGo) return;
  unseen->owner = known->name;
  if (known->way_out[0] != '\0') unseen->way_out = known->way_out;
}

std::vector<std::string> files_of(const Profile& profile) {
  std::vector<std::string> files{profile.program};
  for (const Mapping& mapping : profile.mappings) files.push_back(mapping.path);
  // GHC links its runtime into the program.
  const auto begins_haskell = [](const Function& f) {
    return f.name == "hs_main" || f.name == "hs_init_ghc";
  };
  if (std::any_of(profile.functions.begin(), profile.functions.end(), begins_haskell))
    files.emplace_back("libHSrts");
  return files;
}

}  // namespace

const RuntimeHeap* runtime_heap_of(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    for (const RuntimeHeap& heap : kRuntimeHeaps) {
      if (begins_with(file_name(file), heap.file)) return &heap;
    }
  }
  return nullptr;
}

UnseenHeap find_unseen_heap(const ProfileFacts& facts, const ResidentMemory& resident, double seen_bytes,
                            const std::vector<std::string>& files, bool has_mappings, bool has_js) {
  const uint64_t other =
      resident.is_known() ? resident.files_bytes + resident.shared_bytes : facts.peak_files_bytes;
  // Not the most that was ever resident: the system keeps that of the program before, where a process executed another.
  const uint64_t most = std::max(facts.peak_resident_bytes, resident.total_bytes);
  if (other == 0 || other >= most) return {};
  if (resident.is_known() && !resident.is_heap_known()) return {};  // what it is was not looked at
  // What an allocator has that does not say what it keeps is not unseen, nor what one keeps that does.
  double explained = seen_bytes;
  if (resident.is_known()) {
    const bool says_free =
        (resident.state & kResidentFreeKnown) != 0 && (resident.state & kResidentOtherHeap) == 0;
    const double heap =
        says_free ? resident.blocks_bytes() + static_cast<double>(resident.slack_bytes + resident.free_bytes)
                  : static_cast<double>(resident.heap_bytes);
    explained = std::max(explained, heap);
  }
  explained += static_cast<double>(resident.stacks_bytes + resident.memprof_bytes);
  UnseenHeap unseen;
  unseen.anonymous_bytes = most - other;
  if (unseen.anonymous_bytes < kMinBytes || explained >= 0.5 * static_cast<double>(unseen.anonymous_bytes)) {
    return {};
  }
  unseen.unseen_bytes = unseen.anonymous_bytes - static_cast<uint64_t>(explained);
  set_owner(resident, files, has_mappings, has_js, &unseen);
  return unseen;
}

UnseenHeap unseen_heap(const Profile& profile) {
  if (!profile.from_memprof) return {};
  Accumulator sum;
  for (const Stack& stack : profile.stacks) sum.add(stack);
  return unseen_heap(profile, sum);
}

UnseenHeap unseen_heap(const Profile& profile, const Accumulator& sum) {
  if (!profile.from_memprof) return {};
  const auto has = [&](Metric metric) { return profile.has_metric[static_cast<size_t>(metric)]; };
  const double blocks =
      std::max(sum.estimate(Metric::kPeakSpace).high, sum.estimate(Metric::kInuseSpace).high);
  return find_unseen_heap(profile, profile.resident, blocks + sum.value(Metric::kMappedResidentSpace),
                          files_of(profile), has(Metric::kMappedSpace), has(Metric::kJsSpace));
}

std::string likely_runtime_heap(const Profile& profile) {
  const RuntimeHeap* const known = runtime_heap_of(files_of(profile));
  return known != nullptr ? known->name : "";
}

std::string bypassing_text(uint64_t libraries) {
  if (libraries == 0) return {};
  return fmt::format("what {} {} with another malloc (opened by dlmopen or with RTLD_DEEPBIND)", libraries,
                     libraries == 1 ? "library allocates" : "libraries allocate");
}

std::string unsampled_memory_text(uint64_t max_resident_bytes, const std::string& program,
                                  bool has_mappings) {
  constexpr uint64_t kMuch = uint64_t{16} << 20;  // the files of many programs
  if (max_resident_bytes < kMuch) return {};
  const RuntimeHeap* const known = runtime_heap_of({program});
  const char* const by_mappings = has_mappings ? kInMappings : kByMappings;
  const std::string text = known == nullptr ? by_mappings
                                            : with_way_out(not_mallocs(known->name),
                                                           has_mappings ? by_mappings : own_way_out(*known));
  return fmt::format("{} in memory, code and files included ({})",
                     format_bytes(static_cast<double>(max_resident_bytes)), text);
}

std::string unseen_heap_text(const UnseenHeap& unseen) {
  if (!unseen.is_known()) return {};
  const auto text = [](uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); };
  const std::string owner = unseen.owner.empty()
                                ? "mapped by the program, or of an allocator that is not hooked"
                                : not_mallocs(unseen.owner);
  return fmt::format("{} of {} anonymous memory ({})", text(unseen.unseen_bytes),
                     text(unseen.anonymous_bytes), with_way_out(owner, unseen.way_out));
}

}  // namespace memprof::profile
