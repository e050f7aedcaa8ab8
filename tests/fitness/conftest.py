"""Makes helpers of this folder, the benches and the operators' tests importable (importlib mode adds no paths)."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

TESTS = Path(__file__).parents[1]
for folder in (TESTS / "fitness", TESTS / "bench", TESTS / "operators"):
    sys.path.insert(0, str(folder))

# The first call of a kernel compiles it, which no deadline of milliseconds survives.
settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")
