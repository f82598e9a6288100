from crfkit.kernels.bandwidth import median_gamma as median_gamma
from crfkit.kernels.bandwidth import scale_gamma as scale_gamma
from crfkit.kernels.graph import GraphKernel as GraphKernel
from crfkit.kernels.mercer import Kernel as Kernel
