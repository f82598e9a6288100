"""
A gene along the DNA
====================

How probable each base is coding, or intron, in a window that the finder has not seen. The bars below are the
true exons.
"""

import matplotlib.pyplot as plt
import numpy as np

from crfkit.apps.genes import GeneFinder

rng = np.random.default_rng(0)
STOPS = ("TAA", "TAG", "TGA")
CODING = ((0.2, 0.2, 0.5, 0.1), (0.4, 0.2, 0.2, 0.2), (0.05, 0.45, 0.45, 0.05))


def bases(n, p=(0.3, 0.2, 0.2, 0.3)):
    return "".join(rng.choice(list("ACGT"), size=n, p=p))


def codon():
    made = "".join(str(rng.choice(list("ACGT"), p=p)) for p in CODING)
    return codon() if made in STOPS else made


def window():
    coding = "ATG" + "".join(codon() for _ in range(60)) + str(rng.choice(STOPS))
    cut = int(rng.integers(40, 140))
    intron = "GTAAGT" + bases(60, (0.35, 0.1, 0.05, 0.5)) + "CTAACTTTTTCAG"
    text = bases(120) + coding[:cut] + intron + coding[cut:] + bases(120)
    return text, [(120, 120 + cut), (120 + cut + len(intron), 120 + len(intron) + len(coding))]


windows, exons = zip(*(window() for _ in range(31)), strict=True)
finder = GeneFinder().fit(windows[:30], exons[:30])
found = finder.posterior(windows[30], both_strands=False)["+"]

fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ax.fill_between(range(len(found.coding)), found.coding, step="mid", label="coding", alpha=0.7)
ax.plot(found.intron, color="tab:orange", label="intron")
for start, stop in exons[30]:
    ax.plot([start, stop], [-0.08, -0.08], color="black", lw=5, solid_capstyle="butt")
ax.set(xlabel="base", ylabel="probability", ylim=(-0.15, 1.05))
ax.legend(loc="upper right")
plt.show()
