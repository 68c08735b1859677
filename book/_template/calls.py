"""Valid calls of `lib.theory.NAME`."""

from bad_input.calls import call, room

EXEMPT = {}
CALLS = room(
    "theory.NAME",
    path=call(start=1.0, target=0.5, curvature=2.0, times=0.3, positive="curvature", broadcast="start target curvature times"),
    descend=call(
        start=1.0,
        target=0.5,
        curvature=2.0,
        learning_rate=0.1,
        steps=3,
        positive="curvature learning_rate",
        broadcast="start target curvature",
    ),
    half_time=call(curvature=2.0, positive="curvature"),
    max_learning_rate=call(curvature=2.0, positive="curvature"),
)
