"""Keep a trained model in a file, and use it elsewhere."""

import tempfile
from pathlib import Path

from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features

tokens, labels = addresses(500, random_state=0)
X = [token_features(address) for address in tokens]
model = CRF(c1=0.05, c2=0.05).fit(X[:400], labels[:400])

with tempfile.TemporaryDirectory() as directory:
    path = Path(directory) / "addresses.crf"
    model.save(path)
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB, {len(model.state_features_)} state features")

    # Loading maps the file into memory: it takes no time, and processes on one machine share the pages.
    loaded = CRF.load(path)
    same = loaded.predict(X[400:]) == model.predict(X[400:])
    print(f"same labels as before saving: {'yes' if same else 'no'}")
    print(f"token accuracy: {loaded.score(X[400:], labels[400:]):.3f}")
    del loaded
