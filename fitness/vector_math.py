"""Elementary functions as straight-line code on one number, so that loops over them become vector code.

Without a vector math library the compiler keeps ``math.sin`` in a loop scalar. Here: Cody and Waite's argument
reduction with the rounding trick of adding 1.5 * 2**52, a polynomial, and the exponent put together in integers.
The polynomials are Chebyshev fits of the reduced functions, computed with 60 digits. Relative errors are below
2e-15 on normal ranges (`tanh`, `sinh` and `log` keep it near their zeros); results below 2.3e-308 are flushed to 0.
NaN, infinities and domain errors come out as in numpy.

Nothing here may be compiled with reassociation: (x + BIG) - BIG would become x.
"""

from __future__ import annotations

import math

import numpy as np

from fitness.jit import scalar

_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer, found in the low bits
_ROUND_BITS = np.float64(_ROUND).view(np.int64)
_BIAS = np.int64(1023)

TRIG_LIMIT = 1e6  # beyond this the reduction below is not good enough, and callers use the C library

_INV_PI, _PI_1, _PI_2, _PI_3 = 1 / math.pi, 3.1415926534682512, 1.215420100718692e-10, 5.825464112186712e-20
_LOG2_E, _LN2_1, _LN2_2 = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10
_SQRT_HALF_BITS = np.float64(math.sqrt(0.5)).view(np.int64)
_TINY, _TINY_SCALE = 2.2250738585072014e-308, 18014398509481984.0  # the least normal number; 2**54
_EXP_MAX, _EXP_MIN = 709.782712893384, -708.3964185322641

# (exp(r) - 1 - r) / r**2 on |r| <= ln(2)/2, error 7e-15
_E0, _E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8 = (
    0.5, 0.16666666666648156, 0.041666666666651246, 0.008333333353839834, 0.0013888888905973543,
    0.0001984120851210209, 2.480153620505534e-05, 2.7625237795740734e-06, 2.761390867578486e-07,
)  # fmt: skip
# (sin(r) / r - 1) / r**2 in z = r**2, |r| <= pi/2, error 4e-19
_S0, _S1, _S2, _S3, _S4, _S5, _S6, _S7 = (
    -0.16666666666666666, 0.008333333333333316, -0.00019841269841254955, 2.755731921915843e-06,
    -2.5052107616384595e-08, 1.6058977272815506e-10, -7.643969031052769e-13, 2.731428986122616e-15,
)  # fmt: skip
# (2 atanh(s) / s - 2) / s**2 in z = s**2, z <= 0.02945, error 5e-14
_L0, _L1, _L2, _L3, _L4, _L5 = (
    0.6666666666666207, 0.4000000001123118, 0.28571424130490974, 0.2222286313243771, 0.18140156550162828,
    0.1662237988556164,
)  # fmt: skip
# (asin(x) / x - 1) / x**2 in z = x**2, x <= 1/2, error 4e-15
_A0, _A1, _A2, _A3, _A4, _A5, _A6, _A7, _A8, _A9, _A10 = (
    0.16666666666666952, 0.0749999999972504, 0.044642857580550685, 0.03038191738295057, 0.022373012954292382,
    0.017337146075635457, 0.01414139468157582, 0.010286921772543867, 0.015454961727659502, -0.006841641283170435,
    0.027887844469954973,
)  # fmt: skip
# (atan(x) / x - 1) / x**2 in z = x**2, x <= tan(pi/8), error 9e-16
_T0, _T1, _T2, _T3, _T4, _T5, _T6, _T7, _T8, _T9 = (
    -0.3333333333333325, 0.19999999999898238, -0.1428571426606795, 0.11111109634672653, -0.09090852496984875,
    0.07691054071029589, -0.06649602209669496, 0.05736261745056589, -0.044831026218406116, 0.022747352471342214,
)  # fmt: skip
_TAN_1, _TAN_3 = math.tan(math.pi / 8), math.tan(3 * math.pi / 8)


@scalar
def power_of_two(k):
    """2.0**k for an int64 -1022 <= k <= 1023."""
    return np.int64((k + _BIAS) << 52).view(np.float64)


@scalar
def reduce_exp(x):
    """(k, p) with exp(x) = 2**k * (1 + p), |log(1 + p)| <= ln(2)/2."""
    shifted = x * _LOG2_E + _ROUND
    k = np.float64(shifted).view(np.int64) - _ROUND_BITS
    f = shifted - _ROUND
    r = (x - f * _LN2_1) - f * _LN2_2
    q = _E8
    q = q * r + _E7
    q = q * r + _E6
    q = q * r + _E5
    q = q * r + _E4
    q = q * r + _E3
    q = q * r + _E2
    q = q * r + _E1
    q = q * r + _E0
    return k, r + r * r * q


@scalar
def exp(x):
    """e**x; 0 below -708.4."""
    k, p = reduce_exp(x)
    value = (2.0 + 2.0 * p) * power_of_two(k - 1)  # k may be 1024, one more than a scale can hold
    value = math.inf if x > _EXP_MAX else value
    return 0.0 if x < _EXP_MIN else value


@scalar
def log(x):
    """Natural logarithm."""
    tiny = x < _TINY
    scaled = x * _TINY_SCALE if tiny else x
    bits = np.float64(scaled).view(np.int64)
    k = (bits - _SQRT_HALF_BITS) >> 52
    m = np.int64(bits - (k << 52)).view(np.float64)
    f = m - 1.0
    s = f / (m + 1.0)
    z = s * s
    q = _L5
    q = q * z + _L4
    q = q * z + _L3
    q = q * z + _L2
    q = q * z + _L1
    q = q * z + _L0
    e = np.float64(k) - (54.0 if tiny else 0.0)
    value = e * _LN2_1 + (e * _LN2_2 + (s * z * q + 2.0 * s))
    special = -math.inf if x == 0.0 else math.nan
    special = math.inf if x == math.inf else special
    return value if 0.0 < x < math.inf else special


@scalar
def _sine_of_reduced(r, k):
    """(-1)**k sin(r) for |r| <= pi/2."""
    z = r * r
    q = _S7
    q = q * z + _S6
    q = q * z + _S5
    q = q * z + _S4
    q = q * z + _S3
    q = q * z + _S2
    q = q * z + _S1
    q = q * z + _S0
    value = r + r * z * q
    return np.int64(np.float64(value).view(np.int64) ^ (k << 63)).view(np.float64)


@scalar
def sin(x):
    """sin(x) for |x| <= TRIG_LIMIT."""
    shifted = x * _INV_PI + _ROUND
    k = np.float64(shifted).view(np.int64)
    f = shifted - _ROUND
    r = ((x - f * _PI_1) - f * _PI_2) - f * _PI_3
    return _sine_of_reduced(r, k)


@scalar
def cos(x):
    """cos(x) for |x| <= TRIG_LIMIT: x is reduced to the nearest odd multiple of pi/2."""
    shifted = (x * _INV_PI - 0.5) + _ROUND
    k = np.float64(shifted).view(np.int64)
    f = (shifted - _ROUND) + 0.5
    r = ((x - f * _PI_1) - f * _PI_2) - f * _PI_3
    return -_sine_of_reduced(r, k)


@scalar
def tan(x):
    """tan(x) for |x| <= TRIG_LIMIT."""
    return sin(x) / cos(x)


@scalar
def _asin_small(x):
    z = x * x
    q = _A10
    q = q * z + _A9
    q = q * z + _A8
    q = q * z + _A7
    q = q * z + _A6
    q = q * z + _A5
    q = q * z + _A4
    q = q * z + _A3
    q = q * z + _A2
    q = q * z + _A1
    q = q * z + _A0
    return x + x * z * q


@scalar
def asin(x):
    """Arc sine; NaN outside [-1, 1]."""
    size = abs(x)
    small = size <= 0.5
    inner = _asin_small(size if small else math.sqrt(0.5 - 0.5 * size))
    return math.copysign(inner if small else math.pi / 2 - 2.0 * inner, x)


@scalar
def acos(x):
    """Arc cosine; NaN outside [-1, 1]."""
    size = abs(x)
    small = size <= 0.5
    inner = _asin_small(x if small else math.sqrt(0.5 - 0.5 * size))
    large = 2.0 * inner if x > 0.0 else math.pi - 2.0 * inner
    return math.pi / 2 - inner if small else large


@scalar
def atan(x):
    """Arc tangent."""
    size = abs(x)
    large, middle = size > _TAN_3, size > _TAN_1
    numerator = -1.0 if large else (size - 1.0 if middle else size)
    denominator = size if large else (size + 1.0 if middle else 1.0)
    t = numerator / denominator
    z = t * t
    q = _T9
    q = q * z + _T8
    q = q * z + _T7
    q = q * z + _T6
    q = q * z + _T5
    q = q * z + _T4
    q = q * z + _T3
    q = q * z + _T2
    q = q * z + _T1
    q = q * z + _T0
    base = math.pi / 2 if large else (math.pi / 4 if middle else 0.0)
    return math.copysign(base + (t + t * z * q), x)


@scalar
def half_expm1(x):
    """(e**x - 1) / 2 for x >= 0, accurate near 0, finite where sinh is."""
    k, p = reduce_exp(x)
    scale = power_of_two(k - 2)  # k - 1 may be one more than a scale can hold
    return 2.0 * (scale * p + (scale - 0.25))


@scalar
def sinh(x):
    """Hyperbolic sine."""
    size = abs(x)
    h = half_expm1(size)
    value = h + h / (2.0 * h + 1.0) if size < 40.0 else h
    return math.copysign(math.inf if size > 710.4758600739439 else value, x)


@scalar
def cosh(x):
    """Hyperbolic cosine."""
    size = abs(x)
    h = half_expm1(size) + 0.5
    value = h + 0.25 / h if size < 40.0 else h
    return math.inf if size > 710.4758600739439 else value


@scalar
def tanh(x):
    """Hyperbolic tangent."""
    size = abs(x)
    h = half_expm1(2.0 * size)
    value = h / (h + 1.0)
    return math.copysign(1.0 if size > 20.0 else value, x)
