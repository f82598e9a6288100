"""Drop-in replacements for other CRF packages: change the import line, keep the code.

``from crfkit.compat import pycrfsuite`` replaces python-crfsuite, ``from crfkit.compat import
sklearn_crfsuite`` replaces sklearn-crfsuite. ``crfkit.compat.install()`` replaces both in code that is not
yours. docs/moving-over.md lists the differences.
"""


def install() -> None:
    """Make ``import pycrfsuite`` and ``import sklearn_crfsuite`` import crfkit's shims from now on.

    Call it before anything imports the originals; they need not be installed. Pickles of
    ``sklearn_crfsuite.CRF`` then load too. Calling it again has no effect.
    """
    from crfkit.compat.originals import install as install_shims  # what it imports takes longer than tagging

    install_shims()


__all__ = ["install"]
