// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "profile/files/gzip.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "profile/series/series_json.h"
#include "profile/series/series_thinning.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr char kFirstLine[] = "memprof series 1\n";
constexpr size_t kFirstLineBytes = sizeof(kFirstLine) - 1;
constexpr size_t kMaxFactsBytes = size_t{1} << 16;

// In front of each look: four letters, and how many bytes its figures and its profile have, little end first.
constexpr char kMark[] = {'L', 'O', 'O', 'K'};
constexpr size_t kNumberBytes = 4;
constexpr size_t kFrameBytes = sizeof kMark + 2 * kNumberBytes;
constexpr uint64_t kMaxFigureBytes = uint64_t{16} << 20;  // unpacked

void put_number(uint64_t number, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(number >> shift & 0xff));
}

uint64_t number_at(const char* bytes) {
  uint64_t number = 0;
  for (size_t i = kNumberBytes; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

std::ifstream open(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!error && !std::filesystem::is_regular_file(status)) throw Error(path + ": not an ordinary file");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(path + ": cannot read it" +
                (std::filesystem::exists(status) ? ": no permission, or an error of the disk"
                                                 : ": there is no such file"));
  }
  return file;
}

std::string read_bytes(std::ifstream& file, uint64_t offset, uint64_t count) {
  std::string bytes(count, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(file.gcount() > 0 ? static_cast<size_t>(file.gcount()) : 0);
  return bytes;
}

bool begins_as_series(std::ifstream& file) {
  return read_bytes(file, 0, kFirstLineBytes) == kFirstLine;
}

// false: they are damaged.
bool unpack_figures(const std::string& figures, const std::string& path, SeriesLook* look) {
  try {
    return is_gzip(figures) && parse_series_look(gunzip(figures, path, kMaxFigureBytes), look);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

SeriesWriter::SeriesWriter(std::string path, const Series& series, uint64_t max_bytes, IfExists if_exists)
    : beginning_(kFirstLine + series_facts_json(series) + "\n"),
      max_bytes_(std::max(max_bytes, kMinBytes)),
      file_(std::move(path), beginning_, if_exists) {}

void SeriesWriter::add(const SeriesLook& look, const Profile& profile) {
  const std::string figures = gzip(series_look_json(look));
  const std::string pprof = write_pprof(profile);
  std::string record(kMark, sizeof kMark);
  put_number(figures.size(), &record);
  put_number(pprof.size(), &record);
  record += figures;
  record += pprof;
  if (beginning_.size() + record.size() > max_bytes_ || pprof.size() > UINT32_MAX) {
    throw Error(fmt::format("{}: a look takes {}, more than the whole series may ({}); allow it more",
                            file_.path(), format_bytes(static_cast<double>(record.size())),
                            format_bytes(static_cast<double>(max_bytes_))));
  }
  if (file_.size() + record.size() > max_bytes_) make_room(record.size(), look.time_unix_ns);
  const uint64_t offset = file_.size();
  file_.append(record);
  kept_.push_back({look.time_unix_ns, live_bytes_of(look), offset, record.size()});
}

void SeriesWriter::make_room(uint64_t for_bytes, uint64_t now_unix_ns) {
  std::vector<ThinningLook> looks;
  looks.reserve(kept_.size());
  for (const Kept& kept : kept_) looks.push_back({kept.time_unix_ns, kept.live_bytes, kept.bytes});
  // A quarter more than is needed: the file is written anew for it.
  const uint64_t max = max_bytes_ - for_bytes - beginning_.size();
  const std::vector<bool> stays = thin_looks(looks, now_unix_ns, std::min(max, max_bytes_ / 4 * 3));
  std::ifstream file = open(file_.path());
  std::string content = beginning_;
  std::vector<Kept> kept;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (!stays[i]) continue;
    const std::string record = read_bytes(file, kept_[i].offset, kept_[i].bytes);
    if (record.size() != kept_[i].bytes) {
      throw Error(file_.path() + ": somebody else made it shorter while it was written");
    }
    kept.push_back({kept_[i].time_unix_ns, kept_[i].live_bytes, content.size(), kept_[i].bytes});
    content += record;
  }
  file_.replace(content);
  left_out_ += kept_.size() - kept.size();
  kept_ = std::move(kept);
}

bool is_series(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  return file && begins_as_series(file);
}

SeriesReader::SeriesReader(const std::string& path) : path_(path), file_(open(path)) {
  if (!begins_as_series(file_)) throw Error(path + ": not a series; `memprof live --record` makes one");
  const std::string facts = read_bytes(file_, kFirstLineBytes, kMaxFactsBytes);
  const size_t facts_end = facts.find('\n');
  if (facts_end == std::string::npos || !parse_series_facts(facts.substr(0, facts_end), &series_)) {
    throw Error(path + ": a series whose second line is damaged");
  }
  file_.clear();
  file_.seekg(0, std::ios::end);
  const auto end = static_cast<uint64_t>(file_.tellg());
  uint64_t offset = kFirstLineBytes + facts_end + 1;
  while (offset + kFrameBytes <= end) {
    const std::string frame = read_bytes(file_, offset, kFrameBytes);
    if (frame.size() != kFrameBytes || frame.compare(0, sizeof kMark, kMark, sizeof kMark) != 0) break;
    const uint64_t figure_bytes = number_at(frame.data() + sizeof kMark);
    const uint64_t profile_bytes = number_at(frame.data() + sizeof kMark + kNumberBytes);
    const uint64_t next = offset + kFrameBytes + figure_bytes + profile_bytes;
    if (next > end || figure_bytes > kMaxFigureBytes) break;
    SeriesLook look;
    if (!unpack_figures(read_bytes(file_, offset + kFrameBytes, figure_bytes), path, &look)) break;
    look.profile_offset = next - profile_bytes;
    look.profile_bytes = profile_bytes;
    series_.looks.push_back(std::move(look));
    offset = next;
  }
  series_.cut_bytes = end - offset;
}

Profile SeriesReader::profile_of(const SeriesLook& look) {
  return read_pprof(read_bytes(file_, look.profile_offset, look.profile_bytes),
                    path_ + " at " + time_text(look.time_unix_ns));
}

}  // namespace memprof::profile
