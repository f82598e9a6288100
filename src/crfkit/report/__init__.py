"""HTML pages: one frame for all of them, in Jinja2's templates; each page is one file without links out."""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
