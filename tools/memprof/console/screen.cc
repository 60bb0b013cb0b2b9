// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/screen.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "memprof/console/console.h"

namespace memprof::cli {
namespace {

// The other screen, no cursor, and lines that end at the edge; and back.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr char kLeave[] = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr char kClear[] = "\x1b[0m\x1b[2J";
constexpr char kClearLine[] = "\x1b[K";
constexpr size_t kUsualRows = 24;
constexpr size_t kUsualColumns = 80;
constexpr int kSequenceMs = 50;  // between the bytes of one key
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kOthers[] = {SIGTSTP, SIGCONT, SIGWINCH};
constexpr size_t kSignals = std::size(kEnding) + std::size(kOthers);

// For the handlers; written before they are set.
termios before;
termios raw;
int wake_read = -1;
int wake_write = -1;
struct sigaction old_actions[kSignals];
std::atomic<bool> is_on{false};

// All that follow up to `wake` are safe in a handler.
void set_terminal(const termios& state) {
  while (tcsetattr(STDIN_FILENO, TCSADRAIN, &state) != 0 && errno == EINTR) {
  }
}

void put_back() {
  if (!is_on.exchange(false)) return;
  static_cast<void>(!::write(STDOUT_FILENO, kLeave, sizeof(kLeave) - 1));
  set_terminal(before);
}

void enter() {
  set_terminal(raw);
  static_cast<void>(!::write(STDOUT_FILENO, kEnter, sizeof(kEnter) - 1));
  is_on = true;
}

void wake(char what) {
  static_cast<void>(!::write(wake_write, &what, 1));
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

// What the signal would have done; it is held back while its handler runs.
void do_default(int signal) {
  handle(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void end_by(int signal) {
  put_back();
  do_default(signal);
}

constexpr char kResized = 'r';
constexpr char kContinued = 'c';

void suspend(int signal) {
  const int error = errno;
  put_back();
  do_default(signal);  // stops here
  handle(signal, suspend);
  enter();
  wake(kContinued);
  errno = error;
}

// Also after SIGSTOP, where a shell has set the terminal meanwhile.
void go_on(int) {
  const int error = errno;
  enter();
  wake(kContinued);
  errno = error;
}

void resized(int) {
  const int error = errno;
  wake(kResized);
  errno = error;
}

bool open_wake_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  wake_read = ends[0];
  wake_write = ends[1];
  return true;
}

winsize size_of_terminal() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

}  // namespace

bool Screen::is_possible() {
  const char* term = std::getenv("TERM");
  return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 &&
         (term == nullptr || std::strcmp(term, "dumb") != 0);
}

Screen::Screen() {
  tcgetattr(STDIN_FILENO, &before);
  raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | IXON);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  open_wake_pipe();
  size_t i = 0;
  for (const int signal : kEnding) sigaction(signal, nullptr, &old_actions[i++]);
  for (const int signal : kOthers) sigaction(signal, nullptr, &old_actions[i++]);
  i = 0;
  for (const int signal : kEnding) {
    // What is ignored (nohup's SIGHUP) stays so.
    if (old_actions[i++].sa_handler != SIG_IGN) handle(signal, end_by);
  }
  enter();
  if (old_actions[i].sa_handler != SIG_IGN) handle(SIGTSTP, suspend);
  handle(SIGCONT, go_on);
  handle(SIGWINCH, resized);
}

Screen::~Screen() {
  // A signal from here on must not enter again.
  size_t i = std::size(kEnding);
  for (const int signal : kOthers) sigaction(signal, &old_actions[i++], nullptr);
  put_back();
  i = 0;
  for (const int signal : kEnding) sigaction(signal, &old_actions[i++], nullptr);
  if (wake_read >= 0) ::close(wake_read);
  if (wake_write >= 0) ::close(wake_write);
  wake_read = wake_write = -1;
}

size_t Screen::rows() const {
  const size_t rows = size_of_terminal().ws_row;
  return rows != 0 ? rows : kUsualRows;
}

size_t Screen::columns() const {
  const size_t columns = size_of_terminal().ws_col;
  return columns != 0 ? columns : kUsualColumns;
}

void Screen::draw(const profile::Cells& cells, bool has_color) {
  std::string text;
  if (drawn_.size() != cells.height() || drawn_columns_ != cells.width()) {
    drawn_.assign(cells.height(), "");
    drawn_columns_ = cells.width();
    text = kClear;
  }
  for (size_t row = 0; row < cells.height(); ++row) {
    std::string line = cells.row_sequence(row, has_color);
    if (line == drawn_[row]) continue;
    text += "\x1b[" + std::to_string(row + 1) + ";1H" + line + kClearLine;
    drawn_[row] = std::move(line);
  }
  if (!text.empty()) print(text);
}

void Screen::take_wakes() {
  char wakes[64];
  for (ssize_t got = 0; (got = ::read(wake_read, wakes, sizeof(wakes))) > 0;) {
    for (ssize_t i = 0; i < got; ++i) {
      if (wakes[i] == kContinued) drawn_.clear();
    }
  }
}

void Screen::read_input(std::vector<profile::LiveKey>* keys) {
  char bytes[256];
  const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof(bytes));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    is_closed_ = true;
    return;
  }
  for (auto& key : reader_.feed(std::string_view(bytes, static_cast<size_t>(got)))) {
    keys->push_back(std::move(key));
  }
}

std::vector<profile::LiveKey> Screen::wait_for_keys(double seconds) {
  constexpr double kMaxMs = 1e9;
  std::vector<profile::LiveKey> keys;
  int timeout = seconds < 0 ? -1 : static_cast<int>(seconds * 1000 < kMaxMs ? seconds * 1000 + 1 : kMaxMs);
  while (!is_closed_) {
    pollfd inputs[] = {{STDIN_FILENO, POLLIN, 0}, {wake_read, POLLIN, 0}};
    const int ready = poll(inputs, 2, reader_.is_waiting() ? kSequenceMs : timeout);
    if (ready < 0 && errno != EINTR) is_closed_ = true;
    if (ready <= 0) return reader_.finish();
    if (inputs[1].revents != 0) {
      take_wakes();
      return keys;
    }
    read_input(&keys);
    if (!keys.empty()) return keys;
  }
  return keys;
}

}  // namespace memprof::cli
