"""Types of the arrays that statistics take and return."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Scores, weights or shares."""
Codes = NDArray[np.intp]
"""Numbers of groups, such as the prompt of each row, from 0 on."""
Flags = NDArray[np.bool_]
"""True or False for each row."""
LabelCodes = NDArray[np.int8]
"""1 good, 0 bad, -1 no label."""
