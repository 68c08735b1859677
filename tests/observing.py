"""An observer that leaves nothing out, for tests that compare whole runs."""


def everything(parameters, outputs, hidden):
    """Observe all parameters, the outputs and the hidden layers that are asked for."""
    seen = (
        parameters | {"outputs": outputs} | {f"hidden{i}": layer for i, layer in enumerate(hidden)}
    )
    return {
        name: (tuple(f"{name}_{axis}" for axis in range(1, value.ndim)), value)
        for name, value in seen.items()
    }
