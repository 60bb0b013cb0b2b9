// SPDX-License-Identifier: Apache-2.0
#include "profile/model/cut_stacks.h"

#include <algorithm>

namespace memprof::profile {
namespace {

constexpr CutRuntime kRuntimes[] = {
    {"libjvm.so", "Java", "start it with -XX:+PreserveFramePointer (JAVA_TOOL_OPTIONS passes it on)"},
    {"beam.smp", "Erlang", "start it with +JPperf fp, which OTP 25 does not know yet"},
};

}  // namespace

const CutRuntime* cut_runtime(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  // The launcher loads libjvm.so at run time.
  const std::string_view file = name == "java" ? "libjvm.so" : name;
  const auto* found = std::find_if(std::begin(kRuntimes), std::end(kRuntimes), [&](const CutRuntime& r) {
    return file.substr(0, std::string_view(r.file).size()) == r.file;
  });
  return found == std::end(kRuntimes) ? nullptr : found;
}

std::vector<const CutRuntime*> cut_runtimes(const std::vector<std::string>& paths) {
  std::vector<const CutRuntime*> found;
  for (const std::string& path : paths) {
    const CutRuntime* runtime = cut_runtime(path);
    if (runtime != nullptr && std::find(found.begin(), found.end(), runtime) == found.end()) {
      found.push_back(runtime);
    }
  }
  return found;
}

}  // namespace memprof::profile
