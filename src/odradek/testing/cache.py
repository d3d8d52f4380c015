"""Where things stay that are costly to fetch or to make."""

import os
from pathlib import Path


def user_cache() -> Path:
    """This project's part of the user's cache directory, which may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "odradek"
