"""Random numbers inside kernels: splitmix64 (Steele et al. 2014), whose state is one number.

Every child of a generation draws from a generator of its own, seeded by (seed, row), so that the result does not depend on
the order in which rows are worked on.
"""

from __future__ import annotations

import numpy as np

from operators.jit import inner


@inner
def next_bits(state):
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def uniform(state):
    return (next_bits(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner
def below(state, n):
    return min(int(uniform(state) * n), n - 1)


@inner
def normal(state):
    u = max(uniform(state), 1e-300)
    return np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * np.pi * uniform(state))


@inner
def draw(state, opcodes, cumulative):
    u = uniform(state)
    for k in range(len(opcodes)):
        if u <= cumulative[k]:
            return opcodes[k]
    return opcodes[len(opcodes) - 1]


@inner
def random_value(state):
    """A start for a fitted constant: mostly of order one, sometimes of another order of magnitude."""
    u = uniform(state)
    if u < 0.5:
        return normal(state)
    if u < 0.8:
        return 5.0 * (2.0 * uniform(state) - 1.0)
    return (1.0 if u < 0.9 else -1.0) * 10.0 ** (4.0 * uniform(state) - 2.0)
