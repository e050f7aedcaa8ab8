"""More laws to be found again, beside those of ../shared: textbook physics, and surfaces made up for the purpose.

Each is (name, formula in numpy's words, ((variable, low, high), ...)). Formulas judge finished laws and never reach a
search; `made` draws the rows.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from problems import Formula, Problem

ROWS = 1000
Ranges = tuple[tuple[str, float, float], ...]


def _same(names: str, low: float = 1.0, high: float = 5.0) -> Ranges:
    return tuple((n, low, high) for n in names.split())


PHYSICS: tuple[tuple[str, str, Ranges], ...] = (
    ("gaussian", "exp(-((theta - theta1)/sigma)**2/2)/(sqrt(2*pi)*sigma)", _same("sigma theta theta1", 1, 3)),
    ("coulomb", "q1*q2/(4*pi*epsilon*r**2)", _same("q1 q2 epsilon r")),
    ("lorentz_x", "(x - u*t)/sqrt(1 - u**2/c**2)", (("x", 5, 10), ("u", 1, 2), ("c", 3, 20), ("t", 1, 2))),
    ("lorentz_t", "(t - u*x/c**2)/sqrt(1 - u**2/c**2)", (("x", 1, 5), ("c", 3, 10), ("u", 1, 2), ("t", 1, 5))),
    ("torque", "r*F*sin(theta)", _same("r F theta")),
    ("angular", "m*r*v*sin(theta)", _same("m r v theta")),
    ("spring_energy", "(m*v**2 + k*x**2)/2", _same("m v k x")),
    ("grating", "arcsin(lam/(n*d))", (("lam", 1, 2), ("d", 2, 5), ("n", 1, 5))),
    ("doppler", "omega_0*(1 + v/c)/sqrt(1 - v**2/c**2)", (("c", 3, 10), ("v", 1, 2), ("omega_0", 1, 5))),
    ("moving_source", "omega_0/(1 - v/c)", (("c", 3, 10), ("v", 1, 2), ("omega_0", 1, 5))),
    ("bohr", "4*pi*epsilon*(h/(2*pi))**2/(m*q**2)", _same("m q h epsilon")),
    ("gas_energy", "p*V/(gamma - 1)", (("gamma", 2, 5), ("p", 1, 5), ("V", 1, 5))),
    ("planck", "h/(2*pi)*omega**3/(pi**2*c**2*(exp(h/(2*pi)*omega/(kb*T)) - 1))", _same("omega T h kb c")),
    ("sound", "sqrt(gamma*p/rho)", _same("gamma p rho")),
    ("rest_energy", "m*c**2/sqrt(1 - v**2/c**2)", (("m", 1, 5), ("v", 1, 2), ("c", 3, 10))),
    ("beats", "2*x1*(1 - cos(omega*t))*alpha", _same("x1 omega t alpha", 1, 3)),
    ("heat_flow", "kappa*(T2 - T1)*A/d", _same("kappa T1 T2 A d")),
    ("dipole", "p_d*cos(theta)/(4*pi*epsilon*r**2)", _same("epsilon p_d theta r", 1, 3)),
    ("dipole_b", "3*p_d*cos(theta)*sin(theta)/(4*pi*epsilon*r**3)", _same("epsilon p_d theta r", 1, 3)),
    ("sphere_charge", "3*q**2/(20*pi*epsilon*d)", _same("q epsilon d")),
    ("resonance", "q*Ef/(m*(omega_0**2 - omega**2))", (*_same("q Ef m", 1, 3), ("omega_0", 3, 5), ("omega", 1, 2))),
    ("orientation", "n_0*(1 + p_d*Ef*cos(theta)/(kb*T))", _same("n_0 kb T theta p_d Ef", 1, 3)),
    ("clausius", "1 + n*alpha/(1 - n*alpha/3)", _same("n alpha", 0, 1)),
    ("charge_moving", "rho*v/sqrt(1 - v**2/c**2)", (("rho", 1, 5), ("v", 1, 2), ("c", 3, 10))),
    (
        "lienard",
        "q/(4*pi*epsilon*r*(1 - v/c))",
        (("q", 1, 5), ("epsilon", 1, 5), ("r", 1, 5), ("v", 1, 2), ("c", 3, 10)),
    ),
    ("paramagnet", "n_rho*mom*(1 - exp(-2*mom*B/(kb*T)))/(1 + exp(-2*mom*B/(kb*T)))", _same("n_rho mom B kb T")),
    ("ferromagnet", "mom*H/(kb*T) + mom*alpha*M/(epsilon*c**2*kb*T)", _same("mom H kb T alpha epsilon c M", 1, 3)),
    ("boltzmann_2", "n_0/(1 + exp(E1/(kb*T)))", _same("n_0 E1 kb T", 1, 3)),
    ("oscillator_mean", "h/(2*pi)*omega/(exp(h/(2*pi)*omega/(kb*T)) - 1)", _same("h omega kb T")),
    ("two_state", "sin(En*t/(h/(2*pi)))**2", _same("En t h", 1, 2)),
    ("moment_3d", "mom*sqrt(Bx**2 + By**2 + Bz**2)", _same("mom Bx By Bz")),
    ("diode", "I_0*(exp(q*Volt/(kb*T)) - 1)", (("I_0", 1, 5), ("q", 1, 2), ("Volt", 1, 2), ("kb", 1, 2), ("T", 1, 2))),
    ("band", "2*U*(1 - cos(k*d))", _same("U k d")),
    ("effective_mass", "(h/(2*pi))**2/(2*E_n*d**2)", _same("h E_n d")),
    ("angular_dependence", "beta*(1 + alpha*cos(theta))", _same("beta alpha theta")),
    ("hydrogen", "-m*q**4/(2*(4*pi*epsilon)**2*(h/(2*pi))**2*n**2)", _same("m q h n epsilon")),
    ("interference", "sqrt(x1**2 + x2**2 + 2*x1*x2*cos(theta1 - theta2))", _same("x1 x2 theta1 theta2")),
    ("barometer", "n_0*exp(-mu*g*z/(kb*T))", _same("n_0 mu g z kb T", 1, 3)),
    ("young", "F/(A*x/l)", _same("F A x l")),
    ("gravity_energy", "G*m1*m2*(1/r2 - 1/r1)", _same("m1 m2 r1 r2 G")),
    ("mean_free_path", "mu*q*Volt/d + sigma*T", _same("mu q Volt d sigma T")),
    ("conduction", "kb*v/(gamma - 1)/A", (("gamma", 2, 5), ("kb", 1, 5), ("v", 1, 5), ("A", 1, 5))),
    ("rutherford", "(Z*alpha*h*c/(4*E*sin(theta/2)**2))**2", _same("Z alpha h c E theta", 1, 2)),
    ("compton", "E/(1 + E/(m*c**2)*(1 - cos(theta)))", _same("E m c theta", 1, 3)),
    ("pendulum_period", "2*pi*sqrt(l/g)*(1 + theta**2/16)", (("l", 1, 5), ("g", 8, 11), ("theta", 0.1, 1))),
    ("lens_maker", "(n - 1)*(1/R1 - 1/R2)", (("n", 1.2, 2.5), ("R1", 1, 5), ("R2", 1, 5))),
    (
        "van_der_waals",
        "n*R*T/(V - n*b) - a*n**2/V**2",
        (*_same("n R T", 1, 3), ("V", 8, 20), ("b", 0.1, 1), ("a", 1, 5)),
    ),
    ("damped", "A*exp(-gamma*t)*cos(omega*t)", (("A", 1, 3), ("gamma", 0.1, 1), ("omega", 1, 3), ("t", 0, 4))),
    ("michaelis", "V*S/(K + S)", _same("V S K")),
    ("competitive", "V*S/(K*(1 + I/Ki) + S)", _same("V S K I Ki")),
    ("logistic_growth", "K/(1 + exp(-r*(t - t0)))", (("K", 1, 5), ("r", 0.5, 2), ("t", 0, 10), ("t0", 4, 6))),
    ("energy_levels", "sqrt(p**2*c**2 + m**2*c**4)", _same("p c m", 1, 3)),
    ("ellipse", "a*(1 - e**2)/(1 + e*cos(theta))", (("a", 1, 5), ("e", 0.1, 0.8), ("theta", 0, 6))),
    ("relativistic_kinetic", "m*c**2*(1/sqrt(1 - v**2/c**2) - 1)", (("m", 1, 5), ("v", 1, 2), ("c", 3, 10))),
    ("double_slit", "I*cos(pi*d*sin(theta)/lam)**2", (("I", 1, 5), ("d", 1, 3), ("theta", 0, 1), ("lam", 1, 2))),
)

SURFACES: tuple[tuple[str, str, Ranges], ...] = (
    ("himmelblau", "(x**2 + y - 11)**2 + (x + y**2 - 7)**2", _same("x y", -4, 4)),
    ("rosenbrock", "(1 - x)**2 + 100*(y - x**2)**2", _same("x y", -2, 2)),
    ("booth_wave", "(x + 2*y - 7)**2 + (2*x + y - 5)**2 + sin(3*x)", _same("x y", -3, 3)),
    ("rastrigin", "20 + x**2 - 10*cos(2*pi*x) + y**2 - 10*cos(2*pi*y)", _same("x y", -3, 3)),
    ("three_hump", "2*x**2 - 1.05*x**4 + x**6/6 + x*y + y**2", _same("x y", -2, 2)),
    ("six_hump", "(4 - 2.1*x**2 + x**4/3)*x**2 + x*y + (4*y**2 - 4)*y**2", _same("x y", -2, 2)),
    ("ring", "sin(6*sqrt(x**2 + y**2))/(1 + x**2 + y**2)", _same("x y", -3, 3)),
    ("chirp", "y*cos(7*x**2 - 2*y)", _same("x y", -3, 3)),
    ("packet", "exp(-x**2/2)*cos(8*x + y)", _same("x y", -3, 3)),
    ("two_bells", "2*exp(-(x - 1)**2 - y**2) - exp(-x**2 - (y + 1)**2)", _same("x y", -3, 3)),
    ("polyexp_3d", "(x - 2*y)**2*exp(-z**2/2)", _same("x y z", -2, 2)),
    ("polyexp_4d", "x1*x2**2*exp(-x3**2) + x4", _same("x1 x2 x3 x4", -2, 2)),
    ("product_waves", "sin(2*x)*cos(3*y) + z**2", _same("x y z", -3, 3)),
    ("quotient", "(x**2 - y)/(1 + x**2 + y**2)", _same("x y", -3, 3)),
    ("tilted", "log(1 + (x - y)**2) + 0.5*x", _same("x y", -3, 3)),
    ("easom", "-cos(x)*cos(y)*exp(-(x - pi)**2 - (y - pi)**2)", _same("x y", 1, 5)),
    ("saddle_exp", "(x**2 - y**2)*exp(x/2 - y/3)", _same("x y", -2, 2)),
    ("seasonal", "1.5 + 0.3*t + 2*sin(4.5*t + 0.7)", (("t", 0, 10),)),
    ("sum_of_decays", "3*exp(-0.4*t) + 1.5*exp(-3*t)", (("t", 0, 6),)),
    ("wave_on_line", "0.5*x - 0.8 + 1.3*cos(5*y)*x", _same("x y", -2, 2)),
)


def made(laws: tuple[tuple[str, str, Ranges], ...], noise: float) -> list[Problem]:
    """Problems of 1,000 training rows (Gaussian noise of `noise` standard deviations of y) and as many test rows."""
    out = []
    for k, (name, text, variables) in enumerate(laws):
        rng = np.random.default_rng([7, k])
        names = tuple(v for v, _, _ in variables)
        formula = Formula(text, names)
        train, test = (np.array([rng.uniform(a, b, ROWS) for _, a, b in variables]) for _ in range(2))
        clean = formula(train)
        y = clean + rng.normal(0.0, noise * float(np.std(clean)), ROWS) if noise else clean
        box = tuple((float(a), float(b)) for _, a, b in variables)
        out.append(Problem("textbook", name, Path(name), (), names, train, y, clean, test, formula, box))
    return out
