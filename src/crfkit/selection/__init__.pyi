from crfkit.selection.gain import GainSelector as GainSelector
from crfkit.selection.gradient import GradientSelector as GradientSelector
from crfkit.selection.l1_path import L1PathSelector as L1PathSelector
from crfkit.selection.mutual_information import MutualInformationSelector as MutualInformationSelector
from crfkit.selection.selected import Feature as Feature
from crfkit.selection.selected import Selection as Selection
from crfkit.selection.stability import StabilitySelector as StabilitySelector
