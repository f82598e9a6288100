"""Names for the array types that signatures mention."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
IdArray = npt.NDArray[np.int32]  # ids of labels and attributes, as the native core takes them
