// SPDX-License-Identifier: Apache-2.0
// What a server (page_server.h) shows: a page, and of one that is live, what changes in it.
//
// Model: a live page is looked at anew now and then, and each of its viewers is told what he has not seen yet.
//
// Threads: the server's.
// Failure: nothing but page() and file() may throw.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace memprof::cli {

// What a viewer of a live page has been told.
struct ViewerPlace {
  uint64_t look = 0;
  uint64_t state = 0;
};

// Something to be saved beside the page.
struct PageFile {
  std::string type;  // MIME
  std::string name;  // for the viewer's folder: letters, digits, dots and hyphens
  std::string content;
};

class PageSource {
 public:
  using Clock = std::chrono::steady_clock;

  PageSource() = default;
  virtual ~PageSource() = default;
  PageSource(const PageSource&) = delete;
  PageSource& operator=(const PageSource&) = delete;

  // Asked for at each request.
  virtual std::string page() = 0;
  // `name`: as behind the address of the page.  Nothing: there is no such file.
  virtual std::optional<PageFile> file(const std::string& /*name*/) { return std::nullopt; }

  // Whether it has events.  The rest is for those that have.
  virtual bool is_live() const { return false; }
  // When look() is wanted; nothing: not at all.
  virtual std::optional<Clock::time_point> next_look(bool /*has_viewers*/) const { return std::nullopt; }
  virtual void look() {}
  // What a viewer is to be told next, as text of an event stream; he is at that place then.  Empty: he knows
  // all there is.
  virtual std::string event_after(ViewerPlace* /*place*/) { return {}; }
  // The place of a viewer who comes back and says which event he had last.
  virtual ViewerPlace place_after(const std::string& /*event*/) const { return {}; }
};

// A page that stays as it is.
class StillPage : public PageSource {
 public:
  explicit StillPage(std::string text) : text_(std::move(text)) {}
  std::string page() override { return text_; }

 private:
  const std::string text_;
};

}  // namespace memprof::cli
