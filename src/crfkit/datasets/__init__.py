"""Generated data sets for experiments and examples."""

from crfkit.datasets.addresses import addresses
from crfkit.datasets.casino import casino
from crfkit.datasets.galaxy import galaxy
from crfkit.datasets.gaussian_mixtures import gaussian_mixtures
from crfkit.datasets.snakes import snakes

__all__ = ["addresses", "casino", "galaxy", "gaussian_mixtures", "snakes"]
