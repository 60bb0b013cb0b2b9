// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "memprof/console/console.h"

namespace memprof::cli {
namespace {

constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l";  // the other screen, no cursor
constexpr char kLeave[] = "\x1b[?25h\x1b[?1049l";
constexpr char kHome[] = "\x1b[H";
constexpr char kClearLine[] = "\x1b[K";
constexpr char kClearBelow[] = "\x1b[J";
constexpr size_t kUsualRows = 24;
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

termios before;  // written before the handlers are set

void put_back() {
  static_cast<void>(!::write(STDOUT_FILENO, kLeave, sizeof(kLeave) - 1));
  tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void end_by(int signal) {
  put_back();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

bool Screen::is_possible() {
  const char* term = std::getenv("TERM");
  return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 &&
         !(term != nullptr && std::strcmp(term, "dumb") == 0);
}

Screen::Screen() {
  tcgetattr(STDIN_FILENO, &before);
  for (const int signal : kEnding) std::signal(signal, end_by);
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  print(kEnter);
}

Screen::~Screen() {
  put_back();
  for (const int signal : kEnding) std::signal(signal, SIG_DFL);
}

size_t Screen::rows() const {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 ? size.ws_row : kUsualRows;
}

void Screen::draw(const std::string& text) {
  std::string screen = kHome;
  size_t lines = 0;
  for (size_t at = 0; at < text.size() && lines + 1 < rows(); ++lines) {
    const size_t end = text.find('\n', at);
    screen += text.substr(at, end - at) + kClearLine + "\n";
    at = end == std::string::npos ? text.size() : end + 1;
  }
  print(screen + kClearBelow);
}

char Screen::wait_for_key(double seconds) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, static_cast<int>(seconds * 1000)) != 1) return 0;
  char key = 0;
  return ::read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
}

}  // namespace memprof::cli
