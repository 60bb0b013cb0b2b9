# SPDX-License-Identifier: Apache-2.0
"""For PyInstaller: where the hook is that packs the native files (entry point `pyinstaller40`)."""
from __future__ import annotations

import os


def hook_folders() -> list[str]:
    """What PyInstaller calls."""
    return [os.path.dirname(os.path.abspath(__file__))]
