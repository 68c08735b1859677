"""Valid calls of `lib.theory`, `lib.kernels` and `lib.measures`."""

from dataclasses import replace

import numpy as np
import torch
from bad_input.calls import call, room

from lib.networks import Dense
from lib.theory import tiling
from lib.theory.synthesis import Neuron
from lib.theory.two_point import Pair

EYE = np.eye(2)
SIGMA = np.array([[1.0, 0.3], [0.3, 2.0]])
ROWS = np.array([[1.0, 0.0], [0.6, 0.8]])
TIMES = np.array([0.0, 0.5, 1.0, 2.0])
ANY_TIMES = "scalar longer"  # one time, or several that are equal
ANY_SHAPE = "scalar longer deeper"
RATES = {"eta_a": 1.0, "eta_w": 2.0}
SIGNALS = np.array([[1.0, 0.5], [-0.4, 0.2], [0.1, -1.0], [0.7, -0.6]])
CLASSES = np.array([1.0, 0.0, 1.0, 0.0])
RING, DRAWN = tiling.arrangement(2, 3, 1), tiling.Signals(SIGNALS, CLASSES)
TENSOR = torch.tensor(ROWS)
DENSE = Dense((2, 3, 1))
NEURON = Neuron(1.0, np.array([0.5]), np.array([2.0]), 1.0, 2.0)
PAIR = Pair(x=1.0, y=0.7, tau_h=2.0, tau_y=3.0)
MANY = {"pair": (Pair(1.0, 0.7, [2.0, 3.0], 3.0),)}
WRONG = {"times": (TIMES[::-1], TIMES - 1)} | dict.fromkeys(("h", "dy2", "y", "target_distance", "mean_error"), (-1.0,))
ASCENDING = {"times": TIMES, "may": {"times": ANY_TIMES}, "also": WRONG}
INNER = "shared by modules of lib.theory, called in loops by public functions that have checked its arguments"

EXEMPT = {
    "lib.theory.single_neuron.path": INNER,
    "lib.theory.linear_riccati.kronecker_sum": INNER,
    "lib.theory.two_point_curves.path": INNER,
    "lib.theory.two_point_curves.one": INNER,
    "lib.theory.two_point_curves.zero_or_positive": INNER,
    "lib.theory.two_point_curves.pair_loss": INNER,
    "lib.theory.two_point_curves.dataset": INNER,
}


CALLS = {
    **room(
        "theory.products",
        flow=call(weights=[0.5, 0.4], target=1.0, times=TIMES, exponents=[1, 2], may={"times": ANY_TIMES}),
        descend=call(weights=[0.5, 0.4], target=1.0, learning_rate=0.1, steps=3, exponents=[1, 2], positive="learning_rate"),
        conserved=call(weights=ROWS, exponents=[1, 2], may={"weights": "deeper"}),
        weights_at=call(
            weights=[0.5, 0.4], product=[0.2, 0.5], exponents=[1, 2], positive="weights product", may={"product": ANY_SHAPE}
        ),
        time_from=call(
            weights=[0.5, 0.4],
            target=1.0,
            product=[0.2, 0.5],
            exponents=[1, 2],
            positive="weights target product",
            may={"product": ANY_SHAPE},
        ),
        pair=call(
            weights=[0.5, 0.4], target=1.0, times=TIMES, positive="target", may={"times": ANY_TIMES}, also={"times": (TIMES - 1,)}
        ),
        matrix_flow=call(
            layers=[EYE / 2, EYE / 3], target=EYE, times=TIMES, may={"times": ANY_TIMES}, also={"times": (TIMES[::-1], TIMES - 1)}
        ),
        time_to_reach=call(
            product=0.5,
            target=1.0,
            degree=3.0,
            start=0.1,
            positive="product target degree start",
            broadcast="product target degree start",
        ),
        approach_rate=call(target=1.0, degree=3.0, positive="target degree", broadcast="target degree"),
        max_learning_rate=call(target=1.0, degree=3.0, positive="target degree", broadcast="target degree"),
        effective_depth=call(exponents=[1, 2], may={"exponents": "longer"}, also={"exponents": ([0, 1], [1.5])}),
    ),
    **room(
        "theory.single_neuron",
        conserved=call(a=[1.0, 2.0], w=ROWS, **RATES, positive="eta_a eta_w", may={"a": "scalar deeper", "w": "longer deeper"}),
        initialize=call(beta0=[1.0, 2.0], delta=0.5, may={"beta0": "longer"}),
        trajectory=call(
            a0=1.0, w0=[1.0, 2.0], beta_star=[2.0, 1.0], times=TIMES, **RATES, positive="eta_a eta_w", may={"times": ANY_TIMES}
        ),
        basin=call(a0=1.0, w0=[1.0, 2.0], beta_star=[2.0, 1.0], **RATES, positive="eta_a eta_w"),
        flow=call(
            a0=1.0,
            w0=[1.0, 2.0],
            xtx=SIGMA,
            xty=[1.0, 0.5],
            times=TIMES,
            **RATES,
            positive="eta_a eta_w",
            may={"times": ANY_TIMES},
        ),
        preconditioner=call(beta=ROWS, delta=0.5, may={"beta": "longer deeper"}),
        potential=call(beta=ROWS, delta=0.5, may={"beta": "longer deeper"}),
        potential_gradient=call(beta=ROWS, delta=0.5, may={"beta": "longer deeper"}),
        nearest_in_bregman=call(xtx=EYE * [1, 0], xty=[1.0, 0.0], beta0=[0.5, 0.5], delta=0.5),
        interpolator=call(xtx=EYE * [1, 0], xty=[1.0, 0.0], a0=1.0, w0=[0.5, 0.5]),
    ),
    **room(
        "theory.linear_networks",
        conserved=call(a=ROWS, w=SIGMA, **RATES, positive="eta_a eta_w", may={"a": "longer", "w": "longer"}),
        flow=call(a=ROWS, w=SIGMA, xtx=SIGMA, xty=ROWS, **ASCENDING, **RATES, positive="eta_a eta_w"),
        preconditioner=call(a=ROWS, w=SIGMA, **RATES, positive="eta_a eta_w", may={"a": "longer", "w": "longer"}),
        neuron_preconditioner=call(
            beta_k=np.ones((2, 3)), delta_k=0.5, **RATES, positive="eta_a eta_w", may={"beta_k": "longer"}
        ),
        preconditioner_isotropic=call(beta=ROWS, delta=0.5, may={"beta": "longer deeper"}),
        gram_w=call(beta=ROWS, delta=0.5, may={"beta": "longer deeper"}),
        gram_a=call(beta=ROWS, delta=0.5, may={"beta": "longer deeper"}),
        isotropic_initialization=call(beta0=ROWS, delta=0.5, hidden=2, seed=0, may={"beta0": "longer", "seed": "zero"}),
        unbalanced_initialization=call(d=2, c=1, h=3, delta=0.5, scale=1.0, seed=0, positive="scale", may={"seed": "zero"}),
        hyperbolic_entropy=call(x=0.5, delta=0.5, also={"delta": (0.0,)}),
        hyperbolic_entropy_gradient=call(x=0.5, delta=0.5, also={"delta": (0.0,)}),
        mu_phi_velocity=call(mu=[1.0, 0.5], phi=[0.1, 0.2], q=SIGMA, delta=[0.5, 0.4], target_norm=1.0, positive="target_norm"),
    ),
    **room(
        "theory.linear_riccati",
        solve=call(a=EYE, w=EYE, beta_star=SIGMA, times=TIMES, may={"times": ANY_TIMES}, also={"times": (-1.0,)}),
        course=call(a=EYE, w=EYE, beta_star=SIGMA, times=TIMES, may={"times": ANY_TIMES}, also={"times": (-1.0,)}),
        singular_values=call(
            beta0_values=[0.1, 0.2],
            target_values=[1.0, 2.0],
            delta=0.5,
            times=TIMES,
            may={"times": ANY_TIMES},
            also={"times": (-1.0,)},
        ),
    ),
    **room(
        "theory.deep_linear",
        deep_flow=call(a=[1.0, 0.5], ws=[ROWS, SIGMA], xtx=SIGMA, xty=[1.0, 0.5], **ASCENDING),
        deep_isotropic_initialization=call(
            d=2, depth=2, a_norm=1.0, delta=-0.5, seed=0, may={"seed": "zero"}, also={"a_norm": (-1.0,)}
        ),
        deep_norm2=call(a_norm2=1.0, delta=0.5, depth=2),
        deep_outer=call(w1_gram=SIGMA, delta=0.5, depth=2, may={"w1_gram": "deeper"}),
        deep_preconditioner=call(a_norm2=1.0, w1_gram=SIGMA, delta=0.5, depth=2, may={"w1_gram": "deeper"}),
        rich_preconditioner=call(beta=[1.0, 0.5], depth=2, may={"beta": "longer"}),
        rich_preconditioner_inverse=call(beta=[1.0, 0.5], depth=2, may={"beta": "longer"}),
        deep_inductive_bias=call(beta=[1.0, 0.5], beta0=[0.5, 0.5], depth=2, may={"beta": "deeper"}),
        deep_interpolator=call(xtx=EYE * [1, 0], xty=[1.0, 0.0], beta0=[0.5, 0.5], depth=2),
    ),
    **room(
        "theory.activation_regions",
        hyperplanes=call(w=ROWS, may={"w": "longer"}),
        regions=call(w=ROWS, bound=1.0, positive="bound"),
        predictor=call(
            pattern=[1, 0],
            w=ROWS,
            a=[1.0, -1.0],
            gamma=0.1,
            also={"gamma": (-0.1, 1.0), "pattern": ([0.5, 1.0],)},
            may={"pattern": "deeper", "w": "longer"},
        ),
        crossings=call(w=ROWS, start=[-1.0, -2.0], end=[2.0, 1.0]),
        deep_crossings=call(
            weights=[ROWS, ROWS],
            biases=[[0.1, 0.2], [0.1, 0.2]],
            start=[-1.0, -2.0],
            end=[2.0, 1.0],
            gamma=0.1,
            also={"gamma": (-0.1, 1.0)},
        ),
    ),
    **room(
        "theory.deep_regions",
        deep_regions=call(
            weights=[ROWS, ROWS],
            biases=[[0.1, 0.2], [0.1, 0.2]],
            bound=1.0,
            gamma=0.1,
            positive="bound",
            also={"gamma": (-0.1, 1.0)},
        ),
        deep_predictor=call(
            pattern=[True, False, True, True],
            weights=[ROWS, ROWS],
            readout=[1.0, -1.0],
            gamma=0.1,
            also={"gamma": (-0.1, 1.0), "pattern": ([0.5, 1.0, 0.0, 1.0],)},
        ),
        folding_network=call(folds=2, layers=2, dimension=2),
    ),
    **room(
        "theory.piecewise_linear",
        scale_initialization=call(w=ROWS, a=[1.0, -1.0], tau=1.0, delta=0.5, positive="tau", broadcast="tau delta"),
        direction_rate=call(mu=0.5, delta=0.5, **RATES, positive="eta_a eta_w", broadcast="mu delta"),
        neuron_flow=call(
            mu=0.5,
            direction=[1.0, 0.0],
            xi=[0.1, 0.2],
            delta=0.5,
            **RATES,
            positive="eta_a eta_w",
            may={"direction": "deeper", "xi": "deeper"},
            broadcast="mu delta",
        ),
        alignment_drive=call(
            direction=[1.0, 0.0],
            inputs=ROWS,
            targets=[1.0, -1.0],
            gamma=0.1,
            also={"gamma": (-0.1, 1.0)},
            may={"direction": "deeper"},
        ),
        alignment_phase=call(w=[1.0, 0.0], a=1.0, drive=[0.1, 0.2], times=TIMES, may={"times": ANY_TIMES}),
        aligned_directions=call(inputs=ROWS, targets=[1.0, -1.0], gamma=0.1, also={"gamma": (-0.1, 1.0)}),
    ),
    **room(
        "theory.orthants",
        angle=call(w1=ROWS, wk=ROWS[0], sigma=SIGMA, may={"w1": "deeper", "wk": "deeper"}),
        orthant_probability=call(weights=ROWS, sigma=SIGMA),
        orthant_moments=call(w1=ROWS, wk=ROWS[0], sigma=SIGMA, may={"w1": "deeper", "wk": "deeper"}),
        orthant_covariance=call(w1=ROWS, wk=ROWS[0], sigma=SIGMA, may={"w1": "deeper", "wk": "deeper"}),
        gated_mean=call(weights=ROWS, sigma=SIGMA, may={"weights": "deeper"}),
    ),
    **room(
        "theory.localization",
        relu_pair_moment=call(w1=ROWS, wk=ROWS[0], sigma=SIGMA, may={"w1": "deeper", "wk": "deeper"}),
        relu_flow=call(weights=ROWS, sigma1=SIGMA, sigma0=EYE),
        relu_loss=call(weights=ROWS, sigma1=SIGMA, sigma0=EYE),
        relu_trajectory=call(
            weights0=ROWS, sigma1=SIGMA, sigma0=EYE, times=TIMES, tau=1.0, positive="tau", may={"times": ANY_TIMES}
        ),
        gate_agreement=call(before=ROWS, after=ROWS[0], sigma=SIGMA, may={"before": "deeper", "after": "deeper"}),
        fixed_points=call(sigma1=SIGMA, sigma0=EYE),
        symmetric_score=call(
            mean_absolute=0.5,
            variance1=1.0,
            variance0=1.0,
            also={"mean_absolute": (-1.0, 2.0), "variance0": (-1.0,)},
            positive="variance1",
            broadcast="mean_absolute variance1 variance0",
        ),
        climb_score=call(starts=EYE, inputs=SIGNALS, labels=CLASSES, steps=3, may={"steps": "zero"}),
        ring_spectrum=call(sigma=EYE + 1),
        ring_correlation=call(n=4, xi=1.0, positive="xi"),
        nlgp_covariance=call(n=4, xi=1.0, gain=2.0, positive="xi gain"),
        nlgp_gated_mean=call(n=4, xi=1.0, gain=2.0, positive="xi gain"),
    ),
    **room(
        "theory.tiling",
        arrangement=call(n=4, neurons=4, turns=1, also={"turns": (3,)}),
        starts=call(n=4, seed=0, random=1, may={"seed": "zero", "random": "zero"}),
        flow=call(
            signals=DRAWN,
            profiles=ROWS,
            times=TIMES,
            step=0.5,
            positive="step",
            opaque="signals",
            may={"times": ANY_TIMES},
            also={"signals": (None,)},
        ),
        climb=call(signals=DRAWN, profile=[1.0, 0.5], where=RING, steps=2, opaque="signals where"),
        rival=call(signals=DRAWN, profile=[1.0, 0.5], starts=ROWS, steps=2, opaque="signals"),
        Signals=call(inputs=SIGNALS, labels=CLASSES, may={"inputs": "longer"}),
    ),
    **room("theory.tiling.Signals", score=call(profile=[1.0, 0.5], where=RING, on=DRAWN, opaque="where")),
    **room(
        "theory.gated_linear",
        gdln_moments=call(
            inputs=ROWS,
            labels=[1.0, 0.0],
            gates=[[1, 0], [1, 1]],
            may={"inputs": "longer"},
            also={"gates": ([[0.5, 0], [1, 1]],)},
        ),
        gdln_gaussian_moments=call(gates=ROWS, sigma1=SIGMA, sigma0=EYE),
        gdln_modes=call(a=SIGMA, b=[1.0, 0.5]),
        gdln_trajectory=call(
            weights0=ROWS[:1], a=SIGMA, b=[1.0, 0.5], times=TIMES, tau=1.0, positive="tau", may={"times": ANY_TIMES}
        ),
        gdln_limit=call(weights0=ROWS[:1], a=SIGMA, b=[1.0, 0.5]),
        gdln_loss=call(weights=ROWS[:1], a=SIGMA, b=[1.0, 0.5], may={"weights": "deeper"}),
        gdln_best_loss=call(a=SIGMA, b=[1.0, 0.5]),
        flip_probability=call(
            margins=1.0,
            moves=0.1,
            spreads=0.5,
            positive="spreads",
            broadcast="margins moves spreads",
        ),
        jitter=call(
            hessian=SIGMA, noise=EYE, learning_rate=0.1, steps=[1.0, 5.0], positive="learning_rate steps", may={"steps": "longer"}
        ),
    ),
    **room(
        "theory.practice",
        clock=call(alpha=[1.0, 2.0], optimizer="sgd", positive="alpha", may={"alpha": "scalar longer deeper"}),
        work_shares=call(
            squares=[1.0, 2.0, 3.0],
            rates=[1.0, 2.0, 3.0],
            positive="rates",
            broadcast="squares rates",
            may={"squares": "scalar deeper", "rates": "scalar deeper"},
        ),
        spread=call(progress=[[1.0, 2.0, 4.0], [2.0, 3.0, 4.0]], curves=np.ones((2, 3)), positive="progress"),
        roughness_after=call(travel=0.5, start=10.0, change=2.0, broadcast="travel start change"),
        power_response=call(kernel=ROWS, horizontal=0.5, vertical=0.5, may={"kernel": "longer"}, broadcast="horizontal vertical"),
        white_noise_roughness=call(kernel=ROWS, may={"kernel": "longer"}),
        rule_count=call(classes=2, features=3, symbols=4, levels=2),
        string_count=call(classes=2, features=3, branches=2, levels=2),
        sample_complexity=call(classes=2, features=3, levels=2),
    ),
    **room(
        "theory.synthesis",
        charge=call(parameters=[[1.0, 2.0], ROWS], generators=[EYE, EYE], rates=[1.0, 2.0], positive="rates"),
        charge_step=call(gradients=[[1.0, 2.0], ROWS], generators=[EYE, EYE], rates=[1.0, 2.0], positive="rates"),
        drift=call(
            start=1.0,
            kinetic=[0.1, -0.2],
            momentum=0.5,
            decay=0.1,
            also={"momentum": (1.0,), "decay": (1.0,)},
            may={"kinetic": "longer"},
        ),
        quadratic_invariants=call(points=np.arange(12.0).reshape(6, 2) ** 0.5, velocities=np.arange(12.0).reshape(6, 2)),
        deep_imbalances=call(weights=[ROWS, ROWS], rates=[1.0, 2.0], positive="rates"),
        pair_as_neuron=call(weights=[1.0, 2.0], target=1.0, also={"target": (0.0,)}),
        neuron_as_pair=call(neuron=NEURON, opaque="neuron"),
        two_points_as_neuron=call(
            dh2=1.0, dy2=0.1, w=0.0, pair=PAIR, positive="dh2", also=WRONG | {"pair": (*MANY["pair"], replace(PAIR, y=0))}
        ),
        coordinates=call(neuron=NEURON, opaque="neuron"),
        course=call(
            balance=0.5, size=0.1, cosine=0.5, times=TIMES, positive="size", also={"cosine": (1.5,)}, may={"times": ANY_TIMES}
        ),
    ),
    **room(
        "theory.balance",
        strengths=call(balance=0.5, size=0.1, broadcast="balance size"),
        half_time=call(balance=0.5, size=0.1, broadcast="balance size"),
        sharpness=call(balance=0.5),
        largest_balance=call(rate=0.5, momentum=0.5, positive="rate", also={"rate": (1.6,), "momentum": (-0.1, 1.0)}),
        neuron_kernel_distance=call(
            balance=0.5, size=0.1, cosine=0.5, dimension=2, positive="size", broadcast="balance size", also={"cosine": (1.5,)}
        ),
        twin_kernel_distance=call(
            balance=0.5, size=0.1, dimension=2, positive="size", broadcast="balance size", also={"dimension": (1,)}
        ),
    ),
    **room(
        "theory.two_point",
        high_low=call(dh2=1.0, dy2=0.1, pair=PAIR, positive="dh2", also=WRONG, broadcast="dh2 dy2"),
        final_distance2=call(dh2=1.0, dy2=0.1, pair=PAIR, positive="dh2", also=WRONG, broadcast="dh2 dy2"),
        as_product=call(dh2=1.0, dy2=0.1, pair=PAIR, sign=1, positive="dh2", also=WRONG | MANY, may={"sign": "negative"}),
        linear_flow=call(
            d_h=ROWS,
            d_y=ROWS,
            input_difference=[1.0, 0.5],
            target_difference=[1.0, 0.5],
            tau_h=1.0,
            tau_y=2.0,
            **ASCENDING,
            positive="tau_h tau_y",
        ),
        conserved=call(d_h=ROWS, d_y=ROWS, tau_h=1.0, tau_y=2.0, positive="tau_h tau_y", may={"d_h": "longer"}),
    ),
    **room(
        "theory.two_point_curves",
        Pair=call(x=1.0, y=0.7, tau_h=2.0, tau_y=3.0, positive="x tau_h tau_y", also=WRONG, broadcast="x y tau_h tau_y"),
        velocity=call(dh2=1.0, dy2=0.1, w=0.0, pair=PAIR, positive="dh2", broadcast="dh2 dy2 w", also=WRONG),
        solve=call(dh2=1.0, dy2=0.1, w=0.0, pair=PAIR, **ASCENDING | {"also": WRONG | MANY}, positive="dh2"),
        loss=call(
            dy2=TIMES, w=TIMES, times=TIMES, target_distance=1.0, tau_mean=1.0, mean_error=0.5, positive="tau_mean", also=WRONG
        ),
    ),
    **room(
        "theory.two_point_fit",
        fit=call(
            times=TIMES,
            dh2=TIMES + 1,
            dy2=TIMES / 9,
            w=-TIMES / 9,
            input_distance=1.0,
            target_distance=1.0,
            normalized=True,
            positive="dh2 input_distance",
            also=WRONG | {"times": (TIMES[::-1], 0 * TIMES)},
        ),
        fit_mean=call(
            times=TIMES,
            losses=np.exp(-TIMES),
            dy2=TIMES,
            w=TIMES,
            target_distance=1.0,
            mean_error=1.0,
            positive="mean_error",
            also=WRONG | {"times": (TIMES[::-1], 0 * TIMES)},
        ),
    ),
    **room(
        "kernels",
        ntk=call(network=DENSE, parameters=DENSE.initialize(0, 2), inputs=ROWS, full=False, block=1, opaque="network"),
        kernel_turn=call(w0=ROWS, a0=[1.0, 0.5], w=ROWS, a=[1.0, 0.4], inputs=ROWS, gamma=0.1, also={"gamma": (-0.1, 1.0)}),
        two_layer_ntk=call(w=ROWS, a=[1.0, 0.5], inputs=ROWS, gamma=0.1, also={"gamma": (-0.1, 1.0)}, may={"inputs": "deeper"}),
        kernel_distance=call(k0=SIGMA, kt=EYE, may={"k0": "deeper", "kt": "deeper"}),
    ),
    **room(
        "measures",
        squared_distances=call(points=TENSOR, may={"points": "nan inf longer deeper"}),
        two_points=call(
            targets=ROWS, first=0, second=1, may={"targets": "longer", "first": "zero", "second": "zero"}, also={"first": (2,)}
        ),
        geometry=call(
            parameters={}, outputs=TENSOR[None], hidden=[TENSOR[None]], opaque="parameters outputs hidden", also={"hidden": ([],)}
        ),
        principal_axes=call(points=ROWS, dimensions=2, also={"dimensions": (3,)}, may={"points": "longer"}),
        inverse_participation_ratio=call(
            w=ROWS,
            axis=-1,
            may={"w": "longer deeper", "axis": "negative zero"},
            also={"axis": (2,), "w": (TENSOR[:0], TENSOR * np.nan)},
        ),
        tiling_score=call(profile=[1.0, 0.5], inputs=SIGNALS, labels=CLASSES, also={"profile": (np.zeros(2),)}),
        gate_agreement=call(path=ROWS[None].repeat(3, 0), inputs=ROWS),
        step_sizes=call(
            path=[[1.0, 0.5], [0.9, 0.4], [0.8, 0.4]], may={"path": "longer deeper"}, also={"path": ([[1.0], [0.9]],)}
        ),
        accuracy=call(outputs=TENSOR, labels=torch.tensor([0, 1]), may={"outputs": "nan inf longer deeper"}),
        filter_laplacian=call(filters=ROWS, kernel=SIGMA, may={"filters": "longer deeper", "kernel": "longer"}),
        gabor_share=call(filters=np.eye(5), may={"filters": "deeper"}, also={"filters": (np.eye(4), np.zeros((5, 5)))}),
    ),
}
