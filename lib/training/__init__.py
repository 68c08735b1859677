"""Train many networks at once and record what they do."""

from lib.training.descent import Draw, Loss, Schedule, cross_entropy, half_squared_error
from lib.training.loop import log_steps, train

__all__ = ["Draw", "Loss", "Schedule", "cross_entropy", "half_squared_error", "log_steps", "train"]
