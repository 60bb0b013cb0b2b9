// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/list_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <set>
#include <tuple>

#include "format/files/run_tally.h"
#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/arena_folders.h"
#include "memprof/host/process/running_process.h"
#include "memprof/host/system/file_facts.h"
#include "memprof/io/arena_profile.h"
#include "profile/model/error.h"
#include "profile/model/estimate.h"
#include "profile/model/process_names.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/text/text_table.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

HelpText list_help() {
  return {"memprof list",
          R"(Lists the processes that have memprof in them, and the data that killed ones left
behind: the process id, whether it runs, what it holds (held), how much memory
the file takes, how long it has run, or how long ago a dead one last wrote (age),
and the file. Those that run come first, then the latest. The file of a dead
process is a profile:

  memprof report FILE
  memprof export FILE -o OUT

Looks in $MEMPROF_ARENA_DIR; if that is not set, in /dev/shm, $TMPDIR and /tmp.
)",
          "", ""};
}

HelpText clean_help() {
  return {"memprof clean [--all]",
          R"(Removes the files that dead processes left behind (memprof list shows them). It
keeps the files of running processes, of a `memprof run` that has not ended, and
of other users.
)",
          "", ""};
}

constexpr size_t kProgramColumn = 1;

struct Found {
  ArenaFile file;
  Owner owner = Owner::kUnknown;
  uint64_t memory_bytes = 0;
  int64_t changed_s = 0;
};

struct Everything {
  std::vector<Found> files;
  std::vector<std::string> dead_folders;  // of runs
  std::set<uint32_t> others;              // users whose files are not ours to read
};

void add_files(const std::string& folder, bool is_of_a_run, Everything* everything) {
  for (ArenaFile& file : find_arenas(folder)) {
    FileFacts facts;
    if (read_file_facts(file.path, &facts) != 0 || !facts.is_file) continue;
    if (!may_change_of(facts.user_id)) {
      everything->others.insert(facts.user_id);
      continue;
    }
    Found found;
    // The run that it belongs to is about to read it.
    found.owner = is_of_a_run ? Owner::kLives : owner_of(file);
    found.file = std::move(file);
    found.memory_bytes = facts.memory_bytes;
    found.changed_s = facts.changed_s;
    everything->files.push_back(std::move(found));
  }
}

// Those that run before those that may, and the dead last.
int place_of(Owner owner) {
  return owner == Owner::kLives ? 0 : owner == Owner::kUnknown ? 1 : 2;
}

Everything find_everything() {
  Everything everything;
  for (const std::string& place : arena_places()) {
    add_files(place, false, &everything);
    for (const RunFolder& run : run_folders(place)) {
      add_files(run.path, run.owner == Owner::kLives, &everything);
      if (run.owner == Owner::kIsGone) everything.dead_folders.push_back(run.path);
    }
  }
  std::sort(everything.files.begin(), everything.files.end(), [](const Found& a, const Found& b) {
    return std::make_tuple(place_of(a.owner), -a.changed_s, a.file.path) <
           std::make_tuple(place_of(b.owner), -b.changed_s, b.file.path);
  });
  return everything;
}

const char* state_text(Owner owner) {
  switch (owner) {
    case Owner::kLives:
      return "runs";
    case Owner::kIsGone:
      return "dead";
    case Owner::kUnknown:
      break;
  }
  return "in a container?";
}

// Why what is called an arena is none that this memprof reads.
std::string why_unreadable(const std::string& path, const std::string& what) {
  constexpr char kMagic[] = "MROFARNA";  // ArenaHeader in src/core/arena/arena.h: 8 bytes, and a version
  constexpr size_t kPageBytes = 4096;
  FileFacts facts;
  // A pipe would never let go of who opens it.
  if (read_file_facts(path, &facts) != 0 || !facts.is_file) return "is not a memprof file";
  if (why_not_readable(path) == EACCES) {
    return "cannot be read: it belongs to " + user_name(facts.user_id) + "; try sudo memprof list";
  }
  std::ifstream file(path, std::ios::binary);
  char page[kPageBytes] = {};
  file.read(page, sizeof(page));
  const auto size = static_cast<size_t>(file.gcount());
  uint64_t magic = 0;
  std::memcpy(&magic, page, sizeof(magic));
  if (magic == 0) return "its process has only started, or was killed while starting: it holds nothing yet";
  if (std::memcmp(page, kMagic, sizeof(magic)) != 0) return "is not a memprof file";
  if (size < kPageBytes) return "is cut off after " + std::to_string(size) + " bytes";
  uint32_t version = 0;
  std::memcpy(&version, page + sizeof(magic), sizeof(version));
  return what + " (version " + std::to_string(version) + " of the data)";
}

void say_others(const Everything& everything) {
  if (everything.others.empty()) return;
  std::string names;
  for (const uint32_t uid : everything.others) names += (names.empty() ? "" : ", ") + user_name(uid);
  print("\nThere are processes of " + profile::printable(names) + ", too: sudo memprof list shows all.\n");
}

// How long a process has run; of a dead one, how long ago it last wrote.
std::string age_text(const Found& found, const profile::Profile& profile) {
  constexpr double kSecond = 1e9;
  if (found.owner != Owner::kIsGone)
    return profile::format_duration_ns(static_cast<double>(profile.duration_ns));
  const int64_t since = std::time(nullptr) - found.changed_s;
  return since <= 0 ? "just now" : profile::format_duration_ns(static_cast<double>(since) * kSecond) + " ago";
}

// "2 running: 1.2 MiB; 3 dead: 30.1 MiB"
std::string sums_text(const Everything& everything) {
  size_t dead = 0;
  uint64_t dead_bytes = 0;
  uint64_t bytes = 0;
  for (const Found& found : everything.files) {
    const bool is_dead = found.owner == Owner::kIsGone;
    dead += is_dead ? 1 : 0;
    (is_dead ? dead_bytes : bytes) += found.memory_bytes;
  }
  return fmt::format("\n{} running: {}; {} dead: {}\n", everything.files.size() - dead,
                     profile::format_bytes(static_cast<double>(bytes)), dead,
                     profile::format_bytes(static_cast<double>(dead_bytes)));
}

profile::TextRow row_of(const Found& found, profile::CommandLine* command_line,
                        std::vector<std::string>* unreadable) {
  profile::TextRow row;
  std::string program = "?";
  std::string held = "?";
  std::string age = "?";
  try {
    const profile::Profile profile =
        profile::read_pprof(read_arena(found.file.path).pprof.view(), found.file.path);
    program = profile::printable(profile.program);
    *command_line = profile::command_line_of(profile.program, profile.command_line);
    held = profile::format_bytes(profile::estimated_total(profile, profile::Metric::kInuseSpace));
    age = age_text(found, profile);
  } catch (const profile::Error& error) {
    held = "unreadable";
    const std::string prefix = found.file.path + ": ";
    std::string what = error.what();
    if (what.compare(0, prefix.size(), prefix) == 0) what.erase(0, prefix.size());
    unreadable->push_back(prefix + why_unreadable(found.file.path, what));
  }
  row.numbers = {std::to_string(found.file.pid),
                 program,
                 state_text(found.owner),
                 held,
                 profile::format_bytes(static_cast<double>(found.memory_bytes)),
                 age};
  row.name_text = profile::printable(found.file.path);
  return row;
}

}  // namespace

int list_command(const std::vector<std::string>& arguments) {
  ArgumentParser parser("list", list_help());
  if (parser.parse(arguments)) return 0;
  const Everything everything = find_everything();
  if (everything.files.empty()) {
    print(everything.others.empty()
              ? "no process has memprof in it, and no dead process left data\n"
              : "no process of yours has memprof in it, and no dead process left data\n");
    say_others(everything);
    return 0;
  }
  profile::TextRow titles;
  titles.numbers = {"pid", "program", "state", "held", "memory", "age"};
  titles.name_text = "file";
  profile::TextTable table(std::move(titles));
  bool has_dead = false;
  std::vector<std::string> unreadable;
  std::vector<profile::TextRow> rows;
  std::vector<profile::CommandLine> command_lines(everything.files.size());
  for (const Found& found : everything.files) {
    rows.push_back(row_of(found, &command_lines[rows.size()], &unreadable));
    has_dead |= found.owner == Owner::kIsGone;
  }
  const std::vector<std::string> parts = profile::tell_apart(command_lines);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!parts[i].empty()) rows[i].numbers[kProgramColumn] += " " + profile::printable(parts[i]);
    table.add(std::move(rows[i]));
  }
  profile::TextOptions options;
  options.has_utf8 = wants_utf8();
  profile::TextWriter writer(options);
  table.write(&writer);
  print(writer.take());
  print(sums_text(everything));
  if (!unreadable.empty()) print("\nunreadable:\n");
  for (const std::string& why : unreadable) print("  " + profile::printable(why) + "\n");
  if (has_dead)
    print("\nmemprof report FILE shows what a dead process held; memprof clean removes its file.\n");
  say_others(everything);
  return 0;
}

int clean_command(const std::vector<std::string>& arguments) {
  ArgumentParser parser("clean", clean_help());
  bool all = false;
  parser.add_flag(
      {"--all", "",
       "also remove files of processes that ran in a container, of which memprof cannot tell whether they "
       "still run (such a process goes on, but `memprof live` and `memprof run` can no longer read it)",
       OptionText::Shown::kInBoth},
      all);
  if (parser.parse(arguments)) return 0;
  const Everything everything = find_everything();
  size_t removed = 0;
  size_t unknown = 0;
  uint64_t bytes = 0;
  bool has_failed = false;
  for (const Found& found : everything.files) {
    if (found.owner == Owner::kLives) continue;
    if (found.owner == Owner::kUnknown && !all) {
      ++unknown;
      continue;
    }
    const int error = remove_file(found.file.path);
    if (error == 0) {
      ++removed;
      bytes += found.memory_bytes;
    } else if (error != ENOENT) {
      complain(found.file.path + ": cannot be removed: " + error_text(error));
      has_failed = true;
    }
  }
  for (const std::string& folder : everything.dead_folders) {
    remove_file(folder + "/" + kRunTallyName);
    remove_empty_folder(folder);
  }
  print(fmt::format("removed {} file{} of dead processes, {}\n", removed, removed == 1 ? "" : "s",
                    profile::format_bytes(static_cast<double>(bytes))));
  if (unknown != 0) {
    print(
        fmt::format("left {} of processes that may live in a container; --all removes them, too\n", unknown));
  }
  return has_failed ? kBadInput : 0;
}

}  // namespace memprof::cli
