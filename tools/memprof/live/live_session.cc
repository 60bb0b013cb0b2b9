// SPDX-License-Identifier: Apache-2.0
#include "memprof/live/live_session.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "memprof/console/console.h"
#include "memprof/console/screen.h"
#include "memprof/host/process/roomy_thread.h"
#include "profile/live/live_frame.h"
#include "profile/live/live_text.h"
#include "profile/live/live_view.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr size_t kRows = 20;
// From one look to the next at least so many times what it took of a processor: 2 % of a core.  A process of
// thousands of stacks, or a run of many processes, is looked at less often for it; the key r looks at once.
constexpr double kPause = 50;

class Session {
 public:
  Session(const LiveOptions& options, LiveLooks& looks)
      : options_(options), looks_(looks), view_(options.choice, options.interval_s) {}

  int run() {
    view_.look(looks_.look());  // what goes wrong is said on the ordinary screen
    auto screen = std::make_unique<Screen>();
    began_ = Clock::now();
    while (!screen->is_closed()) {
      view_.set_size(screen->columns(), screen->rows(), wants_utf8());
      screen->draw(profile::draw_live(view_), wants_color());
      if (take_keys(screen->wait_for_keys(seconds_to_next_look()))) break;
      if (is_due()) look();
    }
    screen.reset();
    if (view_.has_ended()) {
      print(profile::live_text(view_.model(), options_.rows.value_or(kRows), terminal_text_options()));
      complain(view_.ending() + "; this was the last look");
    }
    return 0;
  }

 private:
  // True: the view is to end.
  bool take_keys(const std::vector<profile::LiveKey>& keys) {
    for (const profile::LiveKey& key : keys) {
      const profile::LiveEffect effect = view_.press(key);
      if (effect == profile::LiveEffect::kQuit) return true;
      if (effect == profile::LiveEffect::kLook) look();
    }
    return false;
  }

  bool is_waiting() const { return view_.is_paused() || view_.has_ended(); }
  Clock::time_point next() const {
    return began_ + std::chrono::duration_cast<Clock::duration>(Seconds(view_.interval_s()));
  }
  bool is_due() const { return !is_waiting() && Clock::now() >= next(); }
  double seconds_to_next_look() const {
    return is_waiting() ? -1 : std::max(0.0, Seconds(next() - Clock::now()).count());
  }

  void look() {
    began_ = Clock::now();
    if (looks_.is_there()) {
      try {
        const auto before = processor_time_of_thread();
        view_.look(looks_.look());
        view_.allow_interval_s(kPause * Seconds(processor_time_of_thread() - before).count());
        return;
      } catch (const profile::Error& error) {
        if (looks_.is_there()) return view_.say(error.what());
      }
    }
    view_.end(looks_.ending());
  }

  const LiveOptions& options_;
  LiveLooks& looks_;
  profile::LiveView view_;
  Clock::time_point began_;  // the last look
};

}  // namespace

int show_live(const LiveOptions& options, LiveLooks& looks) {
  return Session(options, looks).run();
}

int print_live(const LiveOptions& options, LiveLooks& looks) {
  profile::LiveModel model(options.choice, profile::LiveOrder::kExact);
  const size_t count = options.count.value_or(1);
  const auto print_it = [&] {
    print(profile::live_text(model, options.rows.value_or(kRows), terminal_text_options()));
  };
  model.look(looks.look());  // how much it grows, and how fast it allocates, take two
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) print("\n");
    std::this_thread::sleep_for(Seconds(options.interval_s));
    if (!looks.is_there()) {
      if (i == 0) print_it();
      complain(looks.ending());
      return 0;
    }
    model.look(looks.look());
    print_it();
  }
  return 0;
}

}  // namespace memprof::cli
