"""Drop-in replacements for other CRF packages: change the import line, keep the code.

``from crfkit.compat import pycrfsuite`` replaces python-crfsuite, ``from crfkit.compat import
sklearn_crfsuite`` replaces sklearn-crfsuite. ``crfkit.compat.install()`` replaces both in code that is not
yours. docs/moving-over.md lists the differences.
"""

from crfkit.compat.originals import install

__all__ = ["install"]
