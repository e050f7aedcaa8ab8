"""What a run was made with, for versions.json."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from evolve import __version__

_LIBRARIES = ("numpy", "scipy", "sympy", "deap", "numba", "pandas", "ray", "matplotlib")


def versions() -> dict[str, str]:
    """Versions of this project, Python and the libraries that can change a result; nothing is imported."""
    found = {"evolve": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "absent"
    return {**found, "platform": platform.platform(), "cores": str(os.cpu_count())}
