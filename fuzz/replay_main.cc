// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzzer's entry point over the files of a corpus, without libFuzzer: the corpora are replayed in the
// ordinary tests, with every compiler and sanitizer.
//
// Failure: an argument that cannot be read, or no file at all, is an error; a crash is a crash.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

bool replay_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "replay: cannot read %s\n", path.c_str());
    return false;
  }
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  // A copy of exactly that size, so that AddressSanitizer sees a read of one byte too many.
  const std::vector<uint8_t> data(bytes.begin(), bytes.end());
  std::fprintf(stderr, "replay: %s (%zu bytes)\n", path.c_str(), data.size());
  LLVMFuzzerTestOneInput(data.data(), data.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  size_t files = 0;
  bool ok = true;
  for (int i = 1; i < argc; ++i) {
    std::error_code error;
    if (!std::filesystem::is_directory(argv[i], error)) {
      ok = replay_file(argv[i]) && ok;
      ++files;
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) {
        continue;
      }
      ok = replay_file(entry.path()) && ok;
      ++files;
    }
  }
  if (files == 0) {
    std::fprintf(stderr, "replay: the corpus is empty\n");
    return 1;
  }
  std::fprintf(stderr, "replay: %zu files\n", files);
  return ok ? 0 : 1;
}
