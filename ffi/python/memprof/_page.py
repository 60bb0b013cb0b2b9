# SPDX-License-Identifier: Apache-2.0
"""The page of a snapshot: what HeapSnapshot.show() returns."""
from __future__ import annotations

import base64
import os
import pathlib
import tempfile
import webbrowser


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
