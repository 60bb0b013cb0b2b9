# SPDX-License-Identifier: Apache-2.0
"""Files of a snapshot, and names from debug info: both by the memprof command, outside of this process."""
from __future__ import annotations

import base64
import errno
import json
import os
import pathlib
import stat
import subprocess
import tempfile
import webbrowser
from typing import TYPE_CHECKING, Any

from memprof._command import command_path
from memprof._model import StackFrame
from memprof._notebook import cells as _cells

if TYPE_CHECKING:
    from memprof._library import NativeSnapshot

# How the command calls a format or an end that it does not have (tools/memprof/commands/export_command.cc): its formats
# are listed there alone.
_UNKNOWN_FORMAT = "--format: "
_UNKNOWN_END = ": unknown ending"


def _mistake(path: str, given: str | None, reason: str) -> str | None:
    """What the caller of save() did wrong, if that is the reason that the command gives; None: something else is."""
    reason = reason.replace("memprof: ", "", 1)
    if given is not None and reason.startswith(_UNKNOWN_FORMAT):
        return f"save: format {reason.removeprefix(_UNKNOWN_FORMAT)}"
    if given is None and _UNKNOWN_END in reason:
        return f"save: {path!r}{reason[reason.index(_UNKNOWN_END):].replace('give --format', 'give format=')}"
    return None


def _check_writable(path: str) -> None:
    """Says early, and as Python does, why a file cannot be written."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISDIR(os.stat(folder).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def command_environment() -> dict[str, str]:
    """The command is not to be profiled itself."""
    preload = [library for library in os.environ.get("LD_PRELOAD", "").replace(":", " ").split()
               if "libmemprof" not in library]
    environment = {name: value for name, value in os.environ.items()
                   if name != "LD_PRELOAD" and not (name.startswith("MEMPROF_") and name != "MEMPROF_TEMP")}
    if preload:
        environment["LD_PRELOAD"] = ":".join(preload)
    return environment


class _ExportError(OSError):
    """The command did not write the file; `reason` is its message."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"memprof export: {reason}")
        self.reason = reason


def _export(native: NativeSnapshot, *arguments: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="memprof-") as folder:
        raw = os.path.join(folder, "snapshot.pb")  # a name that speedscope shows
        with open(raw, "wb") as file:
            native.write(file.fileno())
        if cells := _cells.names():
            whole = pathlib.Path(raw)
            whole.write_bytes(_cells.rename(whole.read_bytes(), cells))
        done = subprocess.run([command_path(), "export", raw, *arguments], env=command_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip().replace(raw, "the snapshot")
        raise _ExportError(reason or f"ended with status {done.returncode}")
    return done.stdout


def save(native: NativeSnapshot, path: str | os.PathLike[str], given: str | None) -> None:
    """What HeapSnapshot.save does."""
    target = os.fspath(path)
    if isinstance(target, bytes):
        target = os.fsdecode(target)
    if not target:
        raise FileNotFoundError(errno.ENOENT, "save: the path is empty", target)
    _check_writable(target)
    if given is not None and (not isinstance(given, str) or not given):
        raise ValueError(f"save: format {given!r} is no name of a format")
    format = [] if given is None else [f"--format={given}"]
    try:
        _export(native, "-o", os.path.abspath(target), *format, "--force")  # a path may begin with '-'
    except _ExportError as error:
        mistake = _mistake(target, given, error.reason)
        if mistake is None:
            raise
        raise ValueError(mistake) from None


class Page:
    """A page in one file, which loads nothing.  A notebook draws it where it is the last line of a cell."""

    def __init__(self, html: bytes, height: int) -> None:
        if not isinstance(height, int) or isinstance(height, bool) or height <= 0:
            raise ValueError(f"show: height {height!r} is no number of pixels")
        self.html = html
        self._height = height

    def open(self) -> pathlib.Path:
        """Opens it in the browser of this machine: from a file that stays, whose path is returned."""
        handle, name = tempfile.mkstemp(prefix="memprof-", suffix=".html")
        with os.fdopen(handle, "wb") as file:
            file.write(self.html)
        path = pathlib.Path(name)
        webbrowser.open(path.as_uri())
        return path

    def __repr__(self) -> str:
        return f"<memprof.Page, {len(self.html):,} bytes: a notebook draws it, open() opens it in the browser>"

    def _repr_html_(self) -> str:
        # Not srcdoc: there the page cannot keep what is selected in its own address.  What is in a name of a function
        # reaches neither the notebook nor its cookies: the frame has an origin of its own.
        address = "data:text/html;charset=utf-8;base64," + base64.b64encode(self.html).decode("ascii")
        return (f'<iframe src="{address}" sandbox="allow-scripts allow-downloads" title="memprof" '
                f'style="width: 100%; height: {self._height}px; border: 1px solid #8888"></iframe>')


def page(native: NativeSnapshot, height: int, *arguments: str) -> Page:
    """The page of `memprof view`; arguments: of `memprof export`."""
    return Page(_export(native, "-o", "-", "--format=html", *arguments), height)


class Names:
    """Names of native frames by address, from debug info."""

    def __init__(self, locations: list[dict[str, Any]], modules: list[str]) -> None:
        self._frames: dict[int, tuple[StackFrame, ...]] = {}
        for location in locations:
            address = int(location["address"], 16) + 1
            mapping = location["mapping"]
            module = modules[mapping] if mapping is not None else ""
            self._frames[address] = tuple(
                StackFrame(address, frame["name"], frame.get("file") or module, frame.get("line", 0), False, module)
                for frame in location["frames"])

    def improve(self, stack: tuple[StackFrame, ...]) -> tuple[StackFrame, ...]:
        """The stack with what is known here; an inlined function is a frame of its own."""
        better: list[StackFrame] = []
        for frame in stack:
            known = () if frame.is_python else self._frames.get(frame.address, ())
            better.extend(known or (frame,))
        return tuple(better)


def read_names(native: NativeSnapshot) -> Names:
    """All that the command can find out about the addresses of a snapshot."""
    profile = json.loads(_export(native, "-o", "-", "--format", "json", "--all-frames"))
    return Names(profile["locations"], [mapping["path"] for mapping in profile["mappings"]])
