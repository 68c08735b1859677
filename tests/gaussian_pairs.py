"""Random normal data, weights at chosen angles, and moments behind
half-spaces by quadrature, for tests of `lib.theory`.
"""

import numpy as np
from hypothesis import strategies as st
from scipy.integrate import quad

sizes = st.integers(1, 6)
widths = st.integers(1, 10)
angles = st.sampled_from(
    ["random", "orthogonal", "parallel", "antiparallel", "near-parallel", "near-antiparallel"]
)
TURNS = {
    "near-parallel": 1e-7,
    "near-antiparallel": np.pi - 1e-7,
    "parallel": 0,
    "antiparallel": np.pi,
    "orthogonal": np.pi / 2,
}


def covariance(rng, n, spread=1.0):
    """Return a positive definite matrix whose eigenvalues range over e^±spread."""
    modes = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return modes * np.exp(rng.uniform(-spread, spread, n)) @ modes.T


def at_angle(rng, w, sigma, theta):
    """Return a weight vector at the angle theta from w in
    the inner product of Σ, of random length.
    """
    v = rng.normal(size=w.shape)
    v -= w * (w @ sigma @ v) / (w @ sigma @ w)
    v *= np.sqrt(w @ sigma @ w / (v @ sigma @ v)) * np.sin(theta)
    return rng.uniform(0.3, 3) * (np.cos(theta) * w + v)


def problem(seed, n, kind="random"):
    rng = np.random.default_rng(seed)
    sigma, w1 = covariance(rng, n), rng.normal(size=n)
    return sigma, w1, at_angle(rng, w1, sigma, TURNS.get(kind, rng.uniform(0.3, 2.8)))


def products(sigma, w1, wk):
    return w1 @ sigma @ w1, w1 @ sigma @ wk, wk @ sigma @ wk


def assert_sampled(values, expected):
    """Compare a mean over samples, within five of its standard errors."""
    mean, error = values.mean(axis=0), 5 * values.std(axis=0) / np.sqrt(len(values))
    assert np.all(np.abs(mean - expected) <= error), (mean, expected, error)


def moment_by_quadrature(power_s, power_t, sigma, w1, wk):
    """E[SᵃTᵇ; S > 0, T > 0] over one angle: in polar coordinates of
    the whitened plane the radius integrates exactly.
    """
    r11, r1k, rkk = products(sigma, w1, wk)
    c = r1k / np.sqrt(r11 * rkk)
    theta = np.arccos(
        np.clip(c, -1, 1)
    )  # S ∝ cos φ > 0 and T ∝ cos(φ - θ) > 0; near 0 and π it keeps half of its digits
    radial = {0: 1.0, 2: 2.0}[power_s + power_t]  # ∫ r^(1 + a + b) e^(-r²/2) dr
    value, _ = quad(
        lambda p: np.cos(p) ** power_s * np.cos(p - theta) ** power_t,
        theta - np.pi / 2,
        np.pi / 2,
        epsabs=1e-13,
    )
    return radial * value / (2 * np.pi) * np.sqrt(r11) ** power_s * np.sqrt(rkk) ** power_t


def pair_moment_by_quadrature(w1, wk, sigma):
    """C·(E[ST; ·], E[T²; ·]) with the corrected C = ΣUᵀ(UΣUᵀ)⁻¹ of
    Eqs. 18 and 20 and the moments from quadrature.
    """
    u = np.stack([w1, wk])
    c = sigma @ u.T @ np.linalg.inv(u @ sigma @ u.T)
    return c @ [
        moment_by_quadrature(1, 1, sigma, w1, wk),
        moment_by_quadrature(0, 2, sigma, w1, wk),
    ]
