"""Drop-in replacements for other CRF packages: change the import line, keep the code.

``from crfkit.compat import pycrfsuite`` replaces python-crfsuite, ``from crfkit.compat import
sklearn_crfsuite`` replaces sklearn-crfsuite. docs/moving-over.md lists the differences.
"""
