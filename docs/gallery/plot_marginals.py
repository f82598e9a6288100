"""
How sure the model is, word by word
===================================

Probabilities of the labels of an address.
"""

import matplotlib.pyplot as plt

plt.plot([1, 2])
