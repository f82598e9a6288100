"""Data to try things on, generated on the spot."""

from crfkit.datasets.addresses import addresses
from crfkit.datasets.casino import casino

__all__ = ["addresses", "casino"]
