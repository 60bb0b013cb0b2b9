// SPDX-License-Identifier: Apache-2.0
#include "memprof/view/file_page.h"

#include <stdexcept>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/host/process/file_state.h"

namespace memprof::cli {

FilePage::FilePage(std::string path, std::function<std::string()> read)
    : path_(std::move(path)), read_(std::move(read)), state_(file_state(path_)), text_(read_()) {}

std::string FilePage::page() {
  // Whoever writes while it is read leaves another state: then it is read once more at the next request.
  const std::string state = file_state(path_);
  if (state == state_) return text_;
  state_ = state;
  try {
    text_ = read_();
    complain(path_ + " has changed: read anew");
  } catch (const std::runtime_error& error) {
    complain(path_ + " has changed, and the page stays as it was: " + error.what());
  }
  return text_;
}

}  // namespace memprof::cli
