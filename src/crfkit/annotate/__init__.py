"""The correction loop: sentences that a model is least sure of, labelled by a person on a local page.

``pool`` chooses the next sentence, ``learner`` fits and scores, ``store`` keeps every answer, ``session``
joins them, ``server`` and ``page/`` show them in a browser. The command is ``cli/annotate.py``.
"""
