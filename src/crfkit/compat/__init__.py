"""Drop-in replacements for other CRF packages: change the import line, keep the code.

``from crfkit.compat import pycrfsuite`` stands in for python-crfsuite, ``from crfkit.compat import
sklearn_crfsuite`` for sklearn-crfsuite. docs/moving-over.md says what differs.
"""
