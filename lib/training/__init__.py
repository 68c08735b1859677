"""Train many networks at once and record what they do."""

from lib.training.descent import Draw, Schedule
from lib.training.loop import log_steps, train
from lib.training.losses import Loss, cross_entropy, half_squared_error

__all__ = ["Draw", "Loss", "Schedule", "cross_entropy", "half_squared_error", "log_steps", "train"]
