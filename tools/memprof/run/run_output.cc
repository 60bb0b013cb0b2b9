// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/run_output.h"

#include <algorithm>
#include <memory>
#include <set>

#include "format/pprof/pprof_name.h"
#include "memprof/console/console.h"
#include "memprof/io/arena_profile.h"
#include "memprof/io/path_pattern.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/profile_output.h"
#include "memprof/run/oom_kill.h"
#include "memprof/run/processes/left_profile.h"
#include "profile/compare/merge.h"
#include "profile/memory/unseen_heap.h"
#include "profile/model/estimate.h"
#include "profile/model/process_names.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/symbolize/shared_names.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

constexpr size_t kNamedInTheEnd = 3;

// out.pb.gz, "1234" -> out.1234.pb.gz
std::string with_part(const std::string& path, const std::string& part) {
  const profile::PprofEnd* end = profile::pprof_end_of(path.c_str());
  const std::string suffix = end != nullptr ? end->text : "";
  return path.substr(0, path.size() - suffix.size()) + "." + part + suffix;
}

bool is_larger(const ProcessProfile& a, const ProcessProfile& b) {
  if (a.peak_bytes != b.peak_bytes) return a.peak_bytes > b.peak_bytes;
  if (a.live_bytes != b.live_bytes) return a.live_bytes > b.live_bytes;
  if (a.allocated_bytes != b.allocated_bytes) return a.allocated_bytes > b.allocated_bytes;
  return a.pid < b.pid;
}

// Never two processes for one: where it is not known when they began, an id says nothing.  What a process
// wrote itself has no times.
bool is_same_process(const ProcessProfile& a, const ProcessProfile& b) {
  if (a.pid != b.pid) return false;
  if (a.start_ns == 0 || b.start_ns == 0) return a.start_ns != b.start_ns;
  return a.process_start != 0 && a.process_start == b.process_start && a.pid_namespace == b.pid_namespace;
}

// One without a time was written by its process when that ended.
bool is_later(const ProcessProfile& a, const ProcessProfile& b) {
  return b.start_ns != 0 && (a.start_ns == 0 || a.start_ns > b.start_ns);
}

// What `memprof run` would have called the program, had it been started without the wrapper: vim, where the file is
// vim.basic.
std::string started_name(const ProcessProfile& process) {
  const profile::CommandLine line = profile::command_line_of(process.program, process.command_line);
  if (line.arguments.empty()) return process.program;
  const std::string name = line.arguments[0].substr(line.arguments[0].rfind('/') + 1);
  return !name.empty() && process.program.compare(0, name.size(), name) == 0 ? name : process.program;
}

void note_missing(const Missing& missing, profile::Profile* profile) {
  profile->unseen_processes = missing.unseen;
  profile->uncollected_processes = missing.uncollected;
  profile->unsampled_processes = missing.unsampled;
  profile->small_processes = missing.small.count;
  profile->small_allocated_bytes = static_cast<uint64_t>(missing.small.allocated_bytes);
  for (const std::string& name : missing.names) {
    profile->comments.push_back(profile::kUnseenComment + name);
  }
}

std::string count_processes(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " process" : " processes");
}

// " (12 more processes had no sample; 3 small ones have no file: 1.5 MiB allocated in all, --keep-all)"; empty: all have
// one.
std::string and_without_file(const Missing& missing) {
  std::string text;
  if (missing.unsampled != 0) {
    text = std::to_string(missing.unsampled) +
           (missing.unsampled == 1 ? " more process" : " more processes") + " had no sample";
  }
  const uint64_t small = missing.small.count;
  if (small != 0) {
    text += (text.empty() ? "" : "; ") + std::to_string(small) +
            (text.empty() ? (small == 1 ? " small process has" : " small processes have")
                          : (small == 1 ? " small one has" : " small ones have")) +
            " no file: " + profile::format_bytes(missing.small.allocated_bytes) + " allocated" +
            (small == 1 ? "" : " in all") + ", --keep-all";
  }
  return text.empty() ? "" : " (" + text + ")";
}

// "; not in it: 52.3 MiB of 55.1 MiB anonymous memory (...), what 1 library ..."; empty: the profile tells of most of it.
std::string not_in_it(const RunOutput& output) {
  const std::string& bypassing = output.bypassing;
  const std::string& unseen = output.unseen_heap;
  if (bypassing.empty() && unseen.empty()) return "";
  return "; not in it: " + unseen + (bypassing.empty() || unseen.empty() ? "" : ", ") + bypassing;
}

// What a process had without malloc; files, too, of which nothing is known then.
std::string in_memory(const ProcessProfile& process) {
  const std::string text =
      profile::unsampled_memory_text(process.max_resident_bytes, process.program, process.has_mappings);
  return text.empty() ? "" : "; it had " + text;
}

// Of a program whose profile is written though it shows nothing.
void say_no_sample(const ProcessProfile& process) {
  const std::string program = process.program.empty() ? "the program" : process.program;
  const bool is_large = !in_memory(process).empty();
  complain(process.rate_bytes <= 1
               ? "no sample: " + program + " allocated nothing by malloc" + in_memory(process)
               : "no sample: " + program + " took less than about " +
                     profile::format_bytes(profile::unlisted_bound_bytes(process.rate_bytes)) +
                     " from malloc, too little for a rate of " + profile::format_rate(process.rate_bytes) +
                     (is_large ? in_memory(process) : "; try -r 0, which records every allocation"));
}

void warn_of_dropped(const std::vector<RunOutput>& outputs) {
  uint64_t dropped = 0;
  uint64_t samples = 0;
  for (const RunOutput& output : outputs) {
    dropped += output.process.dropped_samples;
    samples += output.process.samples;
  }
  if (dropped == 0) return;
  complain("warning: " + std::to_string(dropped) + " of " + std::to_string(samples) +
           " samples were dropped because the profiler's tables were full; a larger -r takes fewer samples");
}

// `named` gives the profile of an output.
template <typename Named>
bool write_merged(const std::vector<RunOutput>& outputs, const RunOptions& options, const Missing& missing,
                  TemporaryFolder& folder, const Named& named) {
  const std::string& path = outputs[0].path;
  try {
    profile::Merger merger;
    for (const RunOutput& output : outputs) merger.add(named(output));
    profile::Profile merged = merger.take();
    note_missing(missing, &merged);
    write_profile(merged, path, options.force);
  } catch (const profile::Error& error) {
    folder.keep();
    complain(error.what());
    for (const RunOutput& output : outputs) {
      complain("a profile without names is kept: memprof report " + shell_word(output.process.path));
    }
    return false;
  }
  warn_of_dropped(outputs);
  if (options.quiet) return true;
  if (outputs.size() == 1 && outputs[0].process.samples == 0) say_no_sample(outputs[0].process);
  complain("wrote " + shell_word(path) + ", " + count_processes(outputs.size()) + and_without_file(missing) +
           "; next: memprof report --by process " + shell_word(path));
  return true;
}

// What is still in memory of the process that was collected last; of others what their files have.
std::shared_ptr<LeftProfile> left_by(const ProcessProfile& process) {
  if (process.profile) return process.profile;
  // A file that its process wrote itself may be anybody's.
  if (process.start_ns == 0) return std::make_shared<LeftProfile>(profile::read_pprof_file(process.path));
  return std::make_shared<LeftProfile>(map_profile(process.path), process.path);
}

// Which to look at first: that of the program that was started (which comes first), but not of a wrapper, or of a
// server's master, where another process held clearly more.
const RunOutput& to_look_at(const std::vector<RunOutput>& outputs, const RunOutput& largest) {
  constexpr double kAboutAsMuch = 0.8;
  return outputs[0].process.peak_bytes >= kAboutAsMuch * largest.process.peak_bytes ? outputs[0] : largest;
}

void say_written(const std::vector<RunOutput>& outputs, const Missing& missing) {
  if (outputs.size() == 1) {
    const ProcessProfile& process = outputs[0].process;
    if (process.samples == 0) say_no_sample(outputs[0].process);
    warn_of_dropped(outputs);
    complain("wrote " + shell_word(outputs[0].path) + and_without_file(missing) + not_in_it(outputs[0]) +
             "; next: memprof report " + shell_word(outputs[0].path));
    return;
  }
  warn_of_dropped(outputs);
  std::vector<const RunOutput*> largest;
  for (const RunOutput& output : outputs) largest.push_back(&output);
  std::sort(largest.begin(), largest.end(),
            [](const RunOutput* a, const RunOutput* b) { return is_larger(a->process, b->process); });
  largest.resize(std::min(largest.size(), kNamedInTheEnd));
  complain("wrote " + std::to_string(outputs.size()) + " profiles" + and_without_file(missing) +
           (outputs.size() > largest.size() ? "; those with the most memory:" : ":"));
  for (const RunOutput* output : largest) {
    const ProcessProfile& process = output->process;
    complain("  " + shell_word(output->path) + "  " + process.program +
             (output->told_apart.empty() ? "" : " ") + output->told_apart + ", pid " +
             std::to_string(process.pid) + ": " + profile::format_bytes(process.peak_bytes) +
             " at its peak, " + profile::format_bytes(process.allocated_bytes) + " allocated" +
             not_in_it(*output));
  }
  complain("next: memprof report " + shell_word(to_look_at(outputs, *largest[0]).path));
}

}  // namespace

const std::string& path_to_look_at(const std::vector<RunOutput>& outputs, const RunOptions& options) {
  if (options.merge) return outputs[0].path;
  const auto largest = std::max_element(
      outputs.begin(), outputs.end(),
      [](const RunOutput& a, const RunOutput& b) { return is_larger(b.process, a.process); });
  return to_look_at(outputs, *largest).path;
}

std::vector<ProcessProfile> take_former_programs(std::vector<ProcessProfile>* processes,
                                                 const std::vector<UnseenProcess>& unseen) {
  std::vector<ProcessProfile> last;
  std::vector<ProcessProfile> former;
  for (ProcessProfile& process : *processes) {
    const auto same = std::find_if(last.begin(), last.end(),
                                   [&](const ProcessProfile& p) { return is_same_process(p, process); });
    if (same == last.end()) {
      last.push_back(std::move(process));
      continue;
    }
    if (is_later(process, *same)) std::swap(process, *same);
    if (!process.is_empty()) former.push_back(std::move(process));
  }
  const auto went_on_unseen = [&](const ProcessProfile& process) {
    return !process.has_ended && std::any_of(unseen.begin(), unseen.end(), [&](const UnseenProcess& u) {
      return u.pid == process.pid && u.process_start == process.process_start;
    });
  };
  processes->clear();
  for (ProcessProfile& process : last) {
    if (!went_on_unseen(process)) {
      processes->push_back(std::move(process));
    } else if (!process.is_empty()) {
      former.push_back(std::move(process));
    }
  }
  return former;
}

std::vector<RunOutput> choose_outputs(std::vector<ProcessProfile> processes, const RunOptions& options,
                                      const RunFacts& facts) {
  std::sort(processes.begin(), processes.end(), [&](const ProcessProfile& a, const ProcessProfile& b) {
    const bool is_started_a = a.pid == facts.pid;
    const bool is_started_b = b.pid == facts.pid;
    return is_started_a != is_started_b ? is_started_a : is_larger(a, b);
  });
  const auto is_empty = [](const ProcessProfile& p) { return p.is_empty(); };
  if (!std::all_of(processes.begin(), processes.end(), is_empty)) {
    processes.erase(std::remove_if(processes.begin(), processes.end(), is_empty), processes.end());
  } else if (!processes.empty()) {
    processes.resize(1);
  }
  std::vector<RunOutput> outputs;
  std::set<std::string> taken;
  for (ProcessProfile& process : processes) {
    PathFacts path_facts;
    path_facts.pid = static_cast<int64_t>(process.pid);
    path_facts.program = process.pid == facts.pid ? facts.program
                         : outputs.empty()        ? started_name(process)
                                                  : process.program;
    path_facts.time_seconds = facts.time_seconds;
    std::string path = expand_path(options.output, path_facts);
    if (!outputs.empty() && !has_pid(options.output)) path = with_part(path, std::to_string(process.pid));
    // An id that two processes had, one after the other.
    for (int n = 2; !taken.insert(path).second; ++n) path = with_part(path, std::to_string(n));
    RunOutput output;
    output.process = std::move(process);
    output.path = std::move(path);
    outputs.push_back(std::move(output));
  }
  std::vector<profile::CommandLine> command_lines;
  for (const RunOutput& output : outputs) {
    command_lines.push_back(profile::command_line_of(output.process.program, output.process.command_line));
  }
  const std::vector<std::string> parts = profile::tell_apart(command_lines);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].told_apart = parts[i];
  return outputs;
}

bool write_outputs(const std::vector<RunOutput>& outputs, const RunOptions& options, const Missing& missing,
                   TemporaryFolder& folder) {
  profile::SharedNames names;
  if (!options.raw) {
    for (const RunOutput& output : outputs) names.add(left_by(output.process)->profile());
    add_names(names, options.ask_servers ? AskServers::kYes : AskServers::kNo);
  }
  const auto set_names = [&](const RunOutput& output, profile::Profile& profile) {
    names.apply(profile);
    profile.told_apart = output.told_apart;
    // The library asks at peaks and at the end: of a program that was ended by a signal it does not know the most.
    profile.max_resident_bytes = std::max(profile.max_resident_bytes, output.process.max_resident_bytes);
    profile.is_oom_killed = output.is_oom_killed;
    profile.memory_limit_bytes = output.memory_limit_bytes;
  };
  if (options.merge) {
    return write_merged(outputs, options, missing, folder, [&](const RunOutput& output) {
      profile::Profile profile = profile::read_pprof_file(output.process.path);
      set_names(output, profile);
      return profile;
    });
  }
  std::vector<RunOutput> written;
  for (const RunOutput& output : outputs) {
    try {
      const std::shared_ptr<LeftProfile> left = left_by(output.process);
      set_names(output, left->profile());
      if (&output == outputs.data()) note_missing(missing, &left->profile());
      const std::string unseen_heap = profile::unseen_heap_text(left->write(output.path, options.force));
      written.push_back(output);
      written.back().unseen_heap = unseen_heap;
      written.back().bypassing = profile::bypassing_text(left->profile().bypassing_libraries);
    } catch (const profile::Error& error) {
      // What the program left is whole: it need not run again.
      folder.keep();
      complain(error.what());
      complain("the profile without names is kept: memprof report " + shell_word(output.process.path));
    }
  }
  if (written.empty() || options.quiet) return written.size() == outputs.size();
  for (const RunOutput& output : written) {
    if (output.is_oom_killed) complain(oom_kill_line(output));
  }
  say_written(written, missing);
  return written.size() == outputs.size();
}

}  // namespace memprof::cli
