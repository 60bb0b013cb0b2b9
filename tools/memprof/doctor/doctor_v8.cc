// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_v8.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "memprof.h"
#include "memprof/doctor/doctor_runtime.h"
#include "memprof/host/linux/program/elf_symbols.h"

namespace memprof::cli {
namespace {

struct Needed {
  const char* symbol;
  const char* shown;
};
constexpr Needed kNeeded[] = {
    {"_ZN2v87Isolate13TryGetCurrentEv", "v8::Isolate::TryGetCurrent"},
    {"_ZN2v87Isolate14GetStackSampleERKNS_13RegisterStateEPPvmPNS_10SampleInfoE",
     "v8::Isolate::GetStackSample"},
    {"_ZN2v87Isolate22SetJitCodeEventHandlerENS_19JitCodeEventOptionsEPFvPKNS_12JitCodeEventEE",
     "v8::Isolate::SetJitCodeEventHandler"},
    {"_ZN2v87Isolate28AddBeforeCallEnteredCallbackEPFvPS0_E", "v8::Isolate::AddBeforeCallEnteredCallback"},
    {"_ZN2v87Isolate20GetEmbeddedCodeRangeEPPKvPm", "v8::Isolate::GetEmbeddedCodeRange"},
    {"_ZN2v87Isolate12GetCodeRangeEPPvPm", "v8::Isolate::GetCodeRange"},
    {"_ZN2v813UnboundScript13GetLineNumberEi", "v8::UnboundScript::GetLineNumber"},
    {"_ZN2v82V810GetVersionEv", "v8::V8::GetVersion"},
};
constexpr size_t kNeededCount = std::size(kNeeded);
constexpr const char* kVersionParts[] = {"_ZN2v88internal7Version6major_E", "_ZN2v88internal7Version6minor_E",
                                         "_ZN2v88internal7Version6build_E"};

// Those of Node 18, 20, 22, 24 and 26 (docs/node.md).
constexpr const char* kKnownVersions[] = {"10.2.", "11.3.", "12.4.", "13.6.", "14.6."};

struct FoundV8 {
  V8Facts facts;
  std::string where;  // " in libnode.so.108"; empty: in the program
};

FoundV8 find_v8(const ProgramFiles& files) {
  const auto facts_of = [](const std::string& path) {
    std::string why;
    const auto file = profile::ElfFile::open(path, &why);
    return file != nullptr ? read_v8_facts(*file) : V8Facts();
  };
  FoundV8 program{facts_of(files.path), ""};
  if (program.facts.is_there) return program;
  for (const std::string& path : files.libraries) {
    FoundV8 found{facts_of(path), " in " + path.substr(path.rfind('/') + 1)};
    if (found.facts.is_there) return found;
  }
  return program;
}

Half expected_v8_frames(const V8Facts& facts) {
  if (!facts.missing.empty()) {
    return {
        "stacks are native ones only, because it does not export " + facts.missing,
        "use a build of node that exports V8's interface, as those of nodejs.org and of distributions do"};
  }
  if (!facts.can_have_lines) {
    return {
        "functions and files will be in stacks, named by V8's own code events; lines of compiled code "
        "as far as it keeps them where known versions do",
        ""};
  }
  return {
      "functions, files and lines of JavaScript will be in stacks, named by V8's own code events: no flag is "
      "needed",
      ""};
}

}  // namespace

V8Facts read_v8_facts(const profile::ElfFile& file) {
  bool has[kNeededCount] = {};
  int32_t version[std::size(kVersionParts)] = {};
  size_t parts = 0;
  V8Facts facts;
  Elf* const elf = file.handle();
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    each_symbol(elf, section, header, [&](const char* name, const GElf_Sym& symbol) {
      if (symbol.st_shndx == SHN_UNDEF) return;
      for (size_t i = 0; i < kNeededCount; ++i) has[i] = has[i] || std::strcmp(name, kNeeded[i].symbol) == 0;
      for (size_t i = 0; i < std::size(kVersionParts); ++i) {
        if (std::strcmp(name, kVersionParts[i]) == 0 &&
            read_variable(elf, symbol, &version[i], sizeof(version[i]))) {
          ++parts;
        }
      }
      facts.runs_addons = facts.runs_addons || std::strcmp(name, "napi_module_register") == 0;
    });
  }
  const auto missing = std::find(has, has + kNeededCount, false);
  // bun has 200 functions of V8's names, TryGetCurrent among them, before another engine; none that says which V8 it is.
  facts.is_there = has[kNeededCount - 1];
  if (facts.is_there && missing != has + kNeededCount) facts.missing = kNeeded[missing - has].shown;
  if (facts.is_there && parts == std::size(kVersionParts)) {
    facts.version =
        std::to_string(version[0]) + "." + std::to_string(version[1]) + "." + std::to_string(version[2]);
  }
  facts.can_have_lines = std::any_of(std::begin(kKnownVersions), std::end(kKnownVersions),
                                     [&](const char* known) { return facts.version.rfind(known, 0) == 0; });
  return facts;
}

void check_v8(const ProgramFiles& files, Checks* checks) {
  const FoundV8 v8 = find_v8(files);
  const char* const name = "V8";
  if (!v8.facts.is_there) {
    if (v8.facts.runs_addons) {
      checks->note(
          "JavaScript",
          "it runs addons of Node with an engine that is not V8 (as bun), or hides V8: "
          "stacks are native ones only; what it allocates by malloc is seen, and not what it takes by an "
          "allocator of its own that no symbol tells (bun's)",
          "run the program with node for JavaScript in stacks");
    }
    return;
  }
  const std::string shown = "V8" + (v8.facts.version.empty() ? "" : " " + v8.facts.version) + v8.where;
  if (files.memprof_node == "0") {
    checks->note(name, shown + " is left alone (MEMPROF_NODE=0): stacks are native ones only",
                 "unset MEMPROF_NODE");
    return;
  }
  const memprof_runtime_stats* const seen =
      files.runtimes_seen ? &(*files.runtimes_seen)[MEMPROF_RUNTIME_V8 - 1] : nullptr;
  const bool is_known = seen != nullptr && seen->version != 0 && seen->stacks != MEMPROF_STACKS_NONE &&
                        seen->stacks != MEMPROF_STACKS_UNCHECKED;
  check_halves(
      name, shown, is_known ? frames_half(*seen) : expected_v8_frames(v8.facts),
      {"Buffers and ArrayBuffers come from malloc, and are seen there; JavaScript's own heap is one number, "
       "and by function with the npm package",
       ""},
      checks);
}

}  // namespace memprof::cli
