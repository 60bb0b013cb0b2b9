// SPDX-License-Identifier: Apache-2.0
// What llvm-symbolizer says of a file of Windows and its PDB, in the form of addr2line.h.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/profile/symbolize/addr2line.h"
#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile::fixture {

// "C:\folder\name" and "/folder/name": without folders.
inline std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

// One list of frames an address, which count from the start of the image; none where a function is not known.
inline std::vector<Frames> ask_llvm(const std::string& program, const std::vector<uint64_t>& addresses,
                                    const std::string& tool = "llvm-symbolizer-19") {
  const Folder folder;
  std::string text;
  char line[1 << 16];
  for (const uint64_t address : addresses) {
    std::snprintf(line, sizeof(line), "0x%lx\n", static_cast<unsigned long>(address));
    text += line;
  }
  write_file(folder / "addresses", text);
  std::vector<Frames> all;
  std::FILE* pipe = popen((tool + " --relative-address --functions=short --inlines --obj='" + program +
                           "' < " + (folder / "addresses"))
                              .c_str(),
                          "r");
  Frames frames;
  NamedFrame frame;
  enum { kFirstName, kPlace, kNextName } next = kFirstName;
  while (pipe != nullptr && std::fgets(line, sizeof(line), pipe) != nullptr) {
    std::string word = line;
    word.pop_back();
    if (next == kPlace) {  // file:line:column
      word.resize(word.rfind(':'));
      const size_t colon = word.rfind(':');
      frame.file = base_name(word.substr(0, colon));
      frame.line = std::atol(word.c_str() + colon + 1);
      if (frame.line == 0xfeefee || frame.line == 0xf00f00) frame.line = 0;
      if (!frame.name.empty() && frame.name != "??") frames.push_back(frame);
      next = kNextName;
    } else if (next == kNextName && word.empty()) {  // behind each address
      all.push_back(std::exchange(frames, {}));
      next = kFirstName;
    } else {
      frame.name = word;
      next = kPlace;
    }
  }
  if (pipe != nullptr) pclose(pipe);
  return all;
}

}  // namespace memprof::profile::fixture
