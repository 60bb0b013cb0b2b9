# SPDX-License-Identifier: Apache-2.0
"""Files of a snapshot, and names from debug info: both by the memprof command, outside of this process."""
from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

from memprof._command import command_path
from memprof._model import StackFrame

if TYPE_CHECKING:
    from memprof._snapshot import NativeSnapshot

FORMATS = {"speedscope": "speedscope", "pprof": "pb.gz", "pb.gz": "pb.gz", "pb": "pb", "collapsed": "collapsed",
           "json": "json", "html": "html", "svg": "svg", "heapprofile": "heapprofile", "dhat": "dhat"}
# What a name says, as the command reads it (tools/memprof/io/profile_format.cc); a longer end stands first.
_ENDS = {".pb.gz": "pb.gz", ".pprof": "pb.gz", ".pb": "pb", ".speedscope.json": "speedscope",
         ".dhat.json": "dhat", ".collapsed": "collapsed", ".json": "json", ".html": "html", ".svg": "svg",
         ".heapprofile": "heapprofile"}


def chosen_format(path: str, given: str | None) -> str:
    """As `memprof export --format` calls it."""
    if given is None:
        format = next((name for end, name in _ENDS.items() if path.endswith(end)), None)
        if format is None:
            raise ValueError(f"save: {path!r}: unknown ending; the name must end in .pb.gz, .pb, .html, .svg, "
                             f".speedscope.json, .heapprofile, .dhat.json, .collapsed or .json, or give format=")
        return format
    if not isinstance(given, str) or given not in FORMATS:
        raise ValueError(f"save: format {given!r} is not known; there are {', '.join(FORMATS)}")
    return FORMATS[given]


def _check_writable(path: str) -> None:
    """Says early, and as Python does, why a file cannot be written."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISDIR(os.stat(folder).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def _environment() -> dict[str, str]:
    """The command is not to be profiled itself."""
    preload = [library for library in os.environ.get("LD_PRELOAD", "").replace(":", " ").split()
               if "libmemprof" not in library]
    environment = {name: value for name, value in os.environ.items()
                   if name != "LD_PRELOAD" and not (name.startswith("MEMPROF_") and name != "MEMPROF_TEMP")}
    if preload:
        environment["LD_PRELOAD"] = ":".join(preload)
    return environment


def _export(native: NativeSnapshot, *arguments: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="memprof-") as folder:
        raw = os.path.join(folder, "snapshot.pb")  # a name that speedscope shows
        with open(raw, "wb") as file:
            native.write(file.fileno())
        done = subprocess.run([command_path(), "export", raw, *arguments], env=_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip().replace(raw, "the snapshot")
        raise OSError(f"memprof export: {reason or f'ended with status {done.returncode}'}")
    return done.stdout


def save(native: NativeSnapshot, path: str | os.PathLike[str], given: str | None) -> None:
    """What HeapSnapshot.save does."""
    target = os.fspath(path)
    if isinstance(target, bytes):
        target = os.fsdecode(target)
    if not target:
        raise FileNotFoundError(errno.ENOENT, "save: the path is empty", target)
    _check_writable(target)
    format = chosen_format(target, given)
    target = os.path.abspath(target)  # a path may begin with '-'
    _export(native, "-o", target, "--format", format, "--force")


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
