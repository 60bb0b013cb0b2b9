// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/directory_target.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/system/file_facts.h"
#include "profile/files/atomic_file.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

class DirectoryTarget : public ShipTarget {
 public:
  DirectoryTarget(std::string folder, std::string spool_id)
      : folder_(std::move(folder)), spool_id_(std::move(spool_id)) {}

  std::string name() const override { return folder_; }

  Sent send(const Look& look, bool /*is_last*/) override {
    Sent sent;
    const std::string folder = folder_ + "/" + word(look, kServiceLabel);
    const std::string path =
        fmt::format("{}/{}.{}.{:012}.pb.gz", folder, word(look, kHostLabel), spool_id_, look.sequence);
    std::error_code error;
    if (fs::exists(path, error)) {
      sent.end = Sent::End::kWasThere;
      return sent;
    }
    // The folder itself is not made anew: what is mounted there may be gone.
    fs::create_directory(folder, error);
    if (error) {
      sent.why = folder + ": cannot make the folder: " + error_text(error.value());
      return sent;
    }
    try {
      profile::write_file_atomically(path, look.pprof, profile::IfExists::kRefuse);
      sent.end = Sent::End::kAccepted;
    } catch (const profile::Error& failed) {
      sent.why = failed.what();
    }
    return sent;
  }

 private:
  static std::string word(const Look& look, const char* label) {
    const auto value = look.labels.find(label);
    return value == look.labels.end() ? "unknown" : file_word(value->second);
  }

  const std::string folder_;
  const std::string spool_id_;
};

}  // namespace

bool is_directory(const std::string& text) {
  return !text.empty() && (text[0] == '/' || text[0] == '.');
}

std::unique_ptr<ShipTarget> make_directory_target(const std::string& text, const TargetOptions& options) {
  std::error_code error;
  if (!fs::is_directory(text, error)) {
    throw Failure(options.option + ": " + text +
                  ": there is no such folder; make it, or mount what is to be there");
  }
  if (!is_writable_folder(text))
    throw Failure(options.option + ": " + text + ": this user may not write there");
  std::string folder = fs::canonical(text, error);
  return std::make_unique<DirectoryTarget>(error ? text : folder, options.spool_id);
}

std::string file_word(const std::string& text) {
  std::string word;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          c == '_' || c == '-' || (c == '.' && !word.empty());
    word += is_plain ? c : '_';
  }
  return word.empty() ? "_" : word;
}

}  // namespace memprof::cli
