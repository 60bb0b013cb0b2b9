# SPDX-License-Identifier: Apache-2.0
"""Snapshots and differences as text and as HTML."""
from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    from memprof._model import Estimate, RateUse, SiteDiff, StackFrame
    from memprof._sites import Sites

    class Shown(Protocol):
        """Of a HeapSnapshot what its text is made of."""

        @property
        def estimated_heap_bytes(self) -> Estimate: ...
        @property
        def sampling_rate_bytes(self) -> int: ...
        @property
        def rates(self) -> tuple[RateUse, ...]: ...
        @property
        def live_samples(self) -> int: ...
        @property
        def total_samples(self) -> int: ...
        @property
        def notes(self) -> tuple[str, ...]: ...
        def sites(self) -> Sites: ...

ROWS = 10
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size_text(size: float) -> str:
    """1536 -> "1.5 KiB"."""
    unit = 0
    while abs(size) >= 1024 and unit < len(_UNITS) - 1:
        size /= 1024
        unit += 1
    return f"{size:.0f} B" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def estimate_text(size: Estimate) -> str:
    """With its interval: "1.5 MiB (95 %: 1.1 MiB to 2.0 MiB)"."""
    if size.is_exact:
        return size_text(size)
    return f"{size_text(size)} (95 %: {size_text(size.low)} to {size_text(size.high)})"


def place_text(frame: StackFrame) -> str:
    """The end of the file's path, and the line."""
    file = "/".join(frame.file.split("/")[-2:])
    return f"{file}:{frame.line}" if frame.line else file


def _header(snapshot: Shown) -> str:
    rates = [use.rate_bytes for use in snapshot.rates] or [snapshot.sampling_rate_bytes]
    how = ("every allocation recorded" if rates[-1] <= 1 else f"one sample each {size_text(rates[-1])}" if len(rates) == 1 else
           f"one sample each {size_text(rates[0])} to {size_text(rates[-1])}")
    return (f"HeapSnapshot: {estimate_text(snapshot.estimated_heap_bytes)} live; {how}, "
            f"{snapshot.live_samples:,} of {snapshot.total_samples:,} samples are live")


def _footer(snapshot: Shown, count: int) -> list[str]:
    lines = []
    if count > ROWS:
        lines.append(f"{ROWS} of {count:,} places; top_allocators({count}) has all")
    rate = snapshot.sampling_rate_bytes
    if not snapshot.live_samples and rate > 1:
        lines.append(f"No sample is live: less than {size_text(3 * rate)} (95 %) is. A smaller sampling_rate_kb sees more")
    return lines + list(snapshot.notes)


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]], left: int) -> list[str]:
    """Columns as wide as they need; those from `left` on are aligned to the left."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return ["  ".join(cell.ljust(width) if i >= left else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in [header, *rows]]


def snapshot_text(snapshot: Shown) -> str:
    """What print shows."""
    sites = snapshot.sites()
    lines = [_header(snapshot)]
    if sites.all:
        rows: list[tuple[str, ...]] = [(size_text(site.bytes), f"{size_text(site.bytes.low)} to {size_text(site.bytes.high)}",
                 f"{site.percent:.1f}%", site.frame.function, place_text(site.frame)) for site in sites.top(ROWS)]
        lines += _table(("live", "95 %", "%", "function", "file:line"), rows, 3)
    return "\n".join(lines + _footer(snapshot, len(sites.all)))


def _html_table(title: str, header: tuple[str, ...], rows: list[tuple[str, ...]], footer: list[str]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    notes = "".join(f"<div>{html.escape(line)}</div>" for line in footer)
    return (f"<div><b>{html.escape(title)}</b><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"{notes}</div>")


def snapshot_html(snapshot: Shown) -> str:
    """What a notebook shows: a row for each place, with a bar; its stack opens by a click."""
    sites = snapshot.sites()
    rows: list[tuple[str, ...]] = []
    for site in sites.top(ROWS):
        stack = "".join(f"<div>{html.escape(str(frame))}</div>" for frame in site.stack)
        bar = (f"<div style='background:#4878cf;height:0.8em;width:{site.percent:.1f}%;min-width:1px' "
               f"title='{site.percent:.1f}%'></div>")
        rows.append((html.escape(size_text(site.bytes)),
                     html.escape(f"{size_text(site.bytes.low)} to {size_text(site.bytes.high)}"),
                     f"<div style='width:8em'>{bar}</div>",
                     f"<details><summary><code>{html.escape(site.frame.function)}</code></summary>{stack}</details>",
                     f"<code>{html.escape(place_text(site.frame))}</code>"))
    return _html_table(_header(snapshot), ("live", "95 %", "share", "function", "file:line"), rows,
                       _footer(snapshot, len(sites.all)))


def _diff_rows(rows: list[SiteDiff]) -> list[tuple[str, ...]]:
    return [(f"{size_text(row.growth)}" if row.growth < 0 else f"+{size_text(row.growth)}",
             f"{size_text(row.growth.low)} to {size_text(row.growth.high)}", "yes" if row.is_significant else "no",
             row.frame.function, place_text(row.frame)) for row in rows[:ROWS]]


def _diff_header(growth: Estimate) -> str:
    sign = "" if growth < 0 else "+"
    return f"SnapshotDiff: {sign}{estimate_text(growth)}"


_DIFF_COLUMNS = ("growth", "95 %", "significant", "function", "file:line")


def diff_text(growth: Estimate, places: list[SiteDiff]) -> str:
    """What print shows."""
    rows = _diff_rows(places)
    return "\n".join([_diff_header(growth)] + (_table(_DIFF_COLUMNS, rows, 3) if rows else ["Nothing has changed."]))


def diff_html(growth: Estimate, places: list[SiteDiff]) -> str:
    """What a notebook shows."""
    rows = [tuple(html.escape(cell) for cell in row) for row in _diff_rows(places)]
    return _html_table(_diff_header(growth), _DIFF_COLUMNS, rows, [])
