// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/heap_options.h"

#include <cstring>

#include "platform/process.h"

namespace memprof::v8 {
namespace {

// The first has V8 sample by Node itself: an isolate has one sampler, which has one rate and is stopped once.  With the others
// V8 writes its heap to a file and ends the process where somebody else has handles to it, as a sampler has.
constexpr const char* kOptions[] = {"--heap-prof", "--build-snapshot", "--build-sea",
                                    "--experimental-sea-config"};
// Makes Node's own snapshot where Node is built.
constexpr char kSnapshotMaker[] = "node_mksnapshot";
constexpr size_t kMaxArgumentsBytes = 4096;

// Node takes - and _ in names of options for the same.
bool begins_with(const char* text, size_t size, const char* option) {
  for (size_t i = 0; option[i] != '\0'; ++i) {
    const bool may_be_underscore = option[i] == '-' && i >= 2;
    if (i == size || (text[i] != option[i] && (!may_be_underscore || text[i] != '_'))) {
      return false;
    }
  }
  return true;
}

bool has_option(const char* text, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (i != 0 && strchr("\" ", text[i - 1]) == nullptr) {  // with a NUL, too
      continue;
    }
    for (const char* option : kOptions) {
      if (begins_with(text + i, size - i, option)) {
        return true;
      }
    }
  }
  return false;
}

bool is_snapshot_maker(const char* arguments, size_t size) {
  const size_t length = strnlen(arguments, size);
  constexpr size_t kLength = sizeof(kSnapshotMaker) - 1;
  return length >= kLength && memcmp(arguments + length - kLength, kSnapshotMaker, kLength) == 0;
}

}  // namespace

bool is_heap_left_alone(const char* arguments, size_t size_bytes, const char* node_options) {
  return has_option(arguments, size_bytes) || is_snapshot_maker(arguments, size_bytes) ||
         (node_options != nullptr && has_option(node_options, strlen(node_options)));
}

bool is_heap_left_alone() {
  char arguments[kMaxArgumentsBytes];
  return is_heap_left_alone(arguments, platform::program_arguments(arguments, sizeof(arguments)),
                            platform::environment("NODE_OPTIONS"));
}

}  // namespace memprof::v8
