// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/needed_libraries.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "memprof/host/program/elf_facts.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLibraries = 1000;  // of a file that is made to have no end

std::vector<std::string> split(const std::string& text, const char* separators) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (end != begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void add_configured(std::vector<std::string>* folders) {
  std::vector<fs::path> files = {"/etc/ld.so.conf"};
  std::error_code error;
  for (fs::directory_iterator entry("/etc/ld.so.conf.d", error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".conf") files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line[0] == '/') folders->push_back(line.substr(0, line.find_first_of(" \t\r")));
    }
  }
}

// Where the loader looks for everybody.
std::vector<std::string> usual_folders() {
  std::vector<std::string> folders;
  const char* variable = std::getenv("LD_LIBRARY_PATH");
  if (variable != nullptr) folders = split(variable, ":;");
  add_configured(&folders);
  for (const char* folder : {"/lib/" MEMPROF_LIBRARY_ARCHITECTURE, "/usr/lib/" MEMPROF_LIBRARY_ARCHITECTURE,
                             "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"}) {
    folders.emplace_back(folder);
  }
  return folders;
}

std::string expanded(const std::string& folder, const std::string& origin) {
  std::string path = folder;
  for (const std::string name : {"${ORIGIN}", "$ORIGIN"}) {
    for (size_t at = path.find(name); at != std::string::npos; at = path.find(name, at + origin.size())) {
      path.replace(at, name.size(), origin);
    }
  }
  return path;
}

// Libraries for other processors have the same names: they are passed over.
bool is_same_kind(const std::string& path, char elf_class) {
  std::ifstream in(path, std::ios::binary);
  char header[5] = "";
  return in.read(header, sizeof(header)) && header[4] == elf_class;
}

std::string find(const std::string& name, const std::vector<std::string>& folders, char elf_class) {
  std::error_code error;
  if (name.find('/') != std::string::npos) return fs::is_regular_file(name, error) ? name : "";
  for (const std::string& folder : folders) {
    std::string path = folder + "/" + name;
    if (fs::is_regular_file(path, error) && is_same_kind(path, elf_class)) return path;
  }
  return {};
}

char class_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char header[5] = "";
  return in.read(header, sizeof(header)) ? header[4] : '\0';
}

}  // namespace

std::vector<NeededLibrary> needed_libraries(const std::string& program) {
  const std::vector<std::string> usual = usual_folders();
  const char elf_class = class_of(program);
  std::vector<NeededLibrary> libraries;
  std::set<std::string> seen;
  std::string path = program;
  std::vector<std::string> of_program;  // a program's DT_RPATH is for its libraries, too
  for (size_t next = 0; libraries.size() < kMaxLibraries;) {
    std::string why;
    const auto file = path.empty() ? nullptr : profile::ElfFile::open(path, &why);
    if (file != nullptr) {
      const ElfFacts facts = read_elf_facts(*file);
      std::error_code error;
      const std::string origin = fs::canonical(path, error).parent_path();
      std::vector<std::string> folders;
      for (const std::string& folder : facts.run_paths) folders.push_back(expanded(folder, origin));
      if (next == 0) of_program = folders;
      folders.insert(folders.end(), of_program.begin(), of_program.end());
      folders.insert(folders.end(), usual.begin(), usual.end());
      for (const std::string& name : facts.needed) {
        if (seen.insert(name).second) libraries.push_back({name, find(name, folders, elf_class)});
      }
    }
    if (next >= libraries.size()) break;
    path = libraries[next++].path;
  }
  return libraries;
}

}  // namespace memprof::cli
