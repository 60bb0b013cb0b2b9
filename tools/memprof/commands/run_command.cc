// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/run_command.h"

#include "memprof/commands/view_command.h"
#include "memprof/console/failure.h"
#include "memprof/io/profile_input.h"
#include "memprof/run/profiled_run.h"
#include "memprof/run/run_options.h"
#include "memprof/run/run_output.h"

namespace memprof::cli {
int run_command(const std::vector<std::string>& arguments) {
  const RunOptions options = parse_run_options(arguments);
  if (options.wants_help) return 0;
  const FinishedRun run = run_profiled(options);
  if (run.is_written && !run.outputs.empty() && options.view) {
    const std::string& path = path_to_look_at(run.outputs, options);
    view_profile(read_profile(path), path);  // it has its names already
  }
  return run.is_written || run.status != 0 ? run.status : kBadInput;
}

}  // namespace memprof::cli
