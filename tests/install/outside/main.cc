// SPDX-License-Identifier: Apache-2.0
//
// A C++ program that is linked with memprof: operator new and new[] are seen, each block once.
#include <memprof.h>

#include <cstdio>
#include <memory>
#include <vector>

namespace {

constexpr int kBlocks = 100;
struct Block {
  char bytes[23456];
};

}  // namespace

int main(int argc, char** argv) {
  memprof_options options;
  memprof_options_init(&options, sizeof options);
  options.rate_bytes = 0;
  if (memprof_init(&options) != MEMPROF_OK || memprof_start() != MEMPROF_OK) return 1;
  std::vector<std::unique_ptr<Block>> blocks;
  for (int i = 0; i < kBlocks; ++i) {
    blocks.push_back(std::make_unique<Block>());
  }
  const std::unique_ptr<Block[]> array(new Block[2]);
  memprof_snapshot* snapshot = nullptr;
  if (memprof_get_snapshot(&snapshot) != MEMPROF_OK) return 1;
  uint64_t count = 0;
  int single = 0;
  int twice = 0;
  const memprof_record* records = memprof_snapshot_records(snapshot, &count);
  for (uint64_t i = 0; i < count; ++i) {
    single += records[i].size_bytes == sizeof(Block);
    twice += records[i].size_bytes == 2 * sizeof(Block);
  }
  memprof_free_snapshot(snapshot);
  if (single != kBlocks || twice != 1) {
    std::fprintf(stderr, "%d blocks and %d arrays seen\n", single, twice);
    return 1;
  }
  if (memprof_write_profile(argc > 1 ? argv[1] : "outside.pb", MEMPROF_WRITE_OVERWRITE) != MEMPROF_OK)
    return 1;
  std::printf("ok %s\n", memprof_version());
  return 0;
}
