from crfkit import compat as compat
from crfkit import datasets as datasets
from crfkit import exceptions as exceptions
from crfkit import features as features
from crfkit import inference as inference
from crfkit import io as io
from crfkit import kernels as kernels
from crfkit import metrics as metrics
from crfkit import model_selection as model_selection
from crfkit import selection as selection
from crfkit.data.graphs import Graph as Graph
from crfkit.data.grids import grid as grid
from crfkit.data.skip_chains import skip_chain as skip_chain
from crfkit.models.blocks import Blocks as Blocks
from crfkit.models.checkpoint import Checkpoint as Checkpoint
from crfkit.models.graphs.graph_crf import GraphCRF as GraphCRF
from crfkit.models.kernels.kernel_crf import KernelCRF as KernelCRF
from crfkit.models.kernels.kernel_logistic import KernelLogisticRegression as KernelLogisticRegression
from crfkit.models.linear.constrained_crf import ConstrainedCRF as ConstrainedCRF
from crfkit.models.linear.crf import CRF as CRF
from crfkit.models.loading import load as load
from crfkit.models.partitions import tag_partition as tag_partition
from crfkit.models.segments.semi_crf import SemiCRF as SemiCRF
from crfkit.models.trees.tree_crf import TreeCRF as TreeCRF
from crfkit.report.showing import show as show
from crfkit.tagger import Tagger as Tagger

__version__: str
