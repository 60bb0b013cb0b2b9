# SPDX-License-Identifier: Apache-2.0
"""A terminal for the tests: a program runs on a pseudo-terminal as under a shell with job control, and what it draws is
kept as a screen. Nothing waits for a time: wait() reads until the screen shows what is asked for.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata

QUIET_S = 0.05  # a screen is whole when nothing comes for so long
MOST_SETTLING_S = 1
WATCHDOG_S = 60
SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])")


class Screen:
    """The rows that a terminal would show; knows the sequences that memprof and less write."""

    def __init__(self, width, height):
        self.sequences = set()  # that were seen, like "?1049h"
        self.styles = set()     # parameters of SGR that were seen
        self.is_other = False   # the other screen, of programs that fill it
        self.bells = 0
        self.pending = ""
        self.resize(width, height)

    def resize(self, width, height):
        self.width, self.height = width, height
        self.row = self.column = 0
        self.clear()

    def clear(self):
        self.rows = [[" "] * self.width for _ in range(self.height)]

    def feed(self, text):
        text = self.pending + text
        self.pending = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                match = SEQUENCE.match(text, at)
                if match is None:
                    if len(text) - at < 32:
                        self.pending = text[at:]  # its end comes
                        return
                    at += 1
                    continue
                self.sequence(match.group(1), match.group(2))
                at = match.end()
                continue
            self.character(text[at])
            at += 1

    def sequence(self, parameters, letter):
        self.sequences.add(parameters + letter)
        numbers = [int(n) if n else 0 for n in parameters.replace("?", "").split(";")]
        if letter == "H":
            numbers = [max(n, 1) for n in numbers + [1]]
            self.row, self.column = min(numbers[0], self.height) - 1, min(numbers[1], self.width) - 1
        elif letter == "K":
            self.rows[self.row][self.column:] = [" "] * (self.width - self.column)
        elif letter == "J" and numbers[0] == 2:
            self.clear()
        elif letter == "m":
            self.styles.update(numbers)
        elif parameters == "?1049":
            self.is_other = letter == "h"
            self.clear()
            self.row = self.column = 0

    def character(self, character):
        if character == "\n":
            self.row += 1
            if self.row == self.height:
                self.rows = self.rows[1:] + [[" "] * self.width]
                self.row -= 1
        elif character == "\r":
            self.column = 0
        elif character == "\x07":
            self.bells += 1
        elif unicodedata.combining(character) == 0 and ord(character) >= 32:
            wide = unicodedata.east_asian_width(character) in "WF"
            if self.column + wide < self.width:
                self.rows[self.row][self.column] = character
                if wide:
                    self.rows[self.row][self.column + 1] = ""
            self.column = min(self.column + 1 + wide, self.width)

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.rows)


class Terminal:
    """Runs a command in the foreground of a terminal of its own."""

    def __init__(self, command, environment, width=100, height=30):
        self.screen = Screen(width, height)
        self.master, self.slave = pty.openpty()
        self.set_size(width, height)
        self.before = termios.tcgetattr(self.slave)
        self.said, said_by_shell = os.pipe()
        told_to_shell, self.tells = os.pipe()
        self.shell = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), str(said_by_shell), str(told_to_shell), *[str(c) for c in command]],
            env=environment, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            pass_fds=(said_by_shell, told_to_shell))
        os.close(said_by_shell)
        os.close(told_to_shell)
        self.all = ""

    def set_size(self, width, height):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def resize(self, width, height):
        self.screen.resize(width, height)
        self.set_size(width, height)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def pump(self, also, limit):
        """Reads what comes from the program, until a descriptor `also` can be read."""
        ready, _, _ = select.select([self.master] + ([also] if also is not None else []), [], [], max(0, limit - time.monotonic()))
        if self.master in ready:
            data = os.read(self.master, 65536).decode(errors="replace")
            self.all += data
            self.screen.feed(data)
        return also in ready

    def wait(self, wanted):
        """Until the screen has this text, or what it calls with the screen's text is true."""
        is_shown = wanted if callable(wanted) else lambda text: wanted in text
        limit = time.monotonic() + WATCHDOG_S
        while not is_shown(self.screen.text()):
            if time.monotonic() >= limit:
                raise AssertionError(f"not shown: {wanted}; the screen is\n{self.screen.text()}")
            self.pump(None, limit)
        settled = time.monotonic() + MOST_SETTLING_S
        while time.monotonic() < settled and select.select([self.master], [], [], QUIET_S)[0]:
            self.pump(None, limit)  # the rest of what is being drawn
        return self.screen.text()

    def shell_says(self):
        """The next line of the shell: `stopped`, or `ended STATUS` with a signal as a number less than 0."""
        limit = time.monotonic() + WATCHDOG_S
        line = b""
        while not line.endswith(b"\n"):
            if time.monotonic() >= limit:
                raise AssertionError(f"it neither stops nor ends; the screen is\n{self.screen.text()}")
            if self.pump(self.said, limit):
                line += os.read(self.said, 1)
        while select.select([self.master], [], [], 0)[0]:
            self.pump(None, limit)
        return line.decode().strip()

    def go_on(self):
        os.write(self.tells, b"\n")

    def is_put_back(self):
        """Whether the terminal is as it was before the program ran."""
        return termios.tcgetattr(self.slave) == self.before

    def hang_up(self):
        os.close(self.slave)
        os.close(self.master)
        self.master = None

    def shell_says_after_hang_up(self):
        return os.read(self.said, 100).decode().strip()

    def close(self):
        if self.shell.poll() is None:
            os.killpg(self.shell.pid, signal.SIGKILL)
        os.close(self.tells)  # the shell kills its program then
        self.shell.wait()
        os.close(self.said)
        if self.master is not None:
            os.close(self.slave)
            os.close(self.master)


def shell(said, told, command):
    """As a shell runs one program: in a group of its own, in the foreground of the terminal, told when it stops."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        for number in (signal.SIGTTOU, signal.SIGHUP, signal.SIGPIPE, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.closerange(3, 64)
        os.execvp(command[0], command)
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            os.write(said, f"ended {os.waitstatus_to_exitcode(status)}\n".encode())
            return
        os.tcsetpgrp(0, os.getpgrp())
        os.write(said, b"stopped\n")
        if os.read(told, 1) == b"":
            os.killpg(child, signal.SIGKILL)
        os.tcsetpgrp(0, child)
        os.killpg(child, signal.SIGCONT)


if __name__ == "__main__":
    shell(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
