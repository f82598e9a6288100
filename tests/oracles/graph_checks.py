"""Every method of inference on graphs against the oracle of graphs; for the tests and for the campaign."""

import numpy as np
from graphs import Enumerated, random_graphs
from labelling_checks import check_any_labellings

from crfkit.exceptions import NoPathError
from crfkit.inference import Graphs, graph_ways

EXACT = Graphs("exact")
METHODS = ("exact", "auto", "trw", "bp", "mean-field")


def check_against_enumeration(seed, sizes, n_labels, kind, scale, forbidden, shared, attracting=False):
    """Check sums by every method, best labellings and samples of random graphs.

    ``attracting``: the two labels of an edge prefer to be equal, so that the best labelling is a minimum cut.
    """
    x = random_graphs(seed, sizes, n_labels, kind, scale=scale, forbidden=forbidden, shared=shared)
    if attracting:
        best, second, third, fourth = np.sort(x.edge.reshape(-1, 4))[:, ::-1].T
        x = x.changed(edge=np.stack([best, third, fourth, second], axis=1).reshape(x.edge.shape))
    oracles = [Enumerated(x, i) for i in range(len(sizes))]
    slack = 1e-9 * (1 + scale)
    for method in METHODS:
        structure = Graphs(method)
        exact = method in ("exact", "auto") or (method == "bp" and kind in ("forest", "none"))
        try:
            found = structure.infer(x)
        except NoPathError as error:
            named = error.sequence
            found = None
        if found is None:
            assert not oracles[named].possible, method
            assert not exact or all(one.possible for one in oracles[:named]), method
            continue
        if not all(one.possible for one in oracles):
            assert not exact, method  # the others need not notice
            continue
        log_z = np.array([one.log_z for one in oracles])
        assert not np.isnan(found.node).any(), method
        assert not np.isnan(found.edge).any(), method
        if exact:
            np.testing.assert_allclose(found.log_z, log_z, atol=slack, err_msg=method)
            for name in ("node", "edge"):
                expected = np.concatenate([getattr(one, name) for one in oracles])
                np.testing.assert_allclose(getattr(found, name), expected, atol=slack, err_msg=method)
            assert found.converged.all()
        elif method == "trw":
            bound = np.array(found.kind) == "upper bound"
            assert (bound == found.converged).all()
            assert (found.log_z >= log_z - slack - 1e-5)[bound].all()
        elif method == "mean-field":
            assert (found.log_z <= log_z + slack).all()
            assert found.kind == ["lower bound"] * len(sizes)
        expected_kind = {"exact": "exact", "auto": "exact", "bp": "approximation"}.get(method)
        assert expected_kind is None or set(found.kind) <= {expected_kind}
        impossible = x.node == -np.inf
        assert (found.node[impossible] == 0).all()
    if all(one.possible for one in oracles):
        check_labellings(x, oracles, slack)


def check_labellings(x, oracles, slack):
    best = np.array([one.best for one in oracles])
    found = EXACT.decode(x)
    np.testing.assert_allclose(found.score, best, atol=slack)
    np.testing.assert_allclose(found.bound, best, atol=slack)
    assert found.optimal.all()
    np.testing.assert_allclose(EXACT.labelling_score(x, found.labels), best, atol=slack)
    drawn = EXACT.sample(x, 3, random_state=1)
    assert all((EXACT.labelling_score(x, ids) > -np.inf).all() for ids in drawn)
    if len(oracles) == 1:
        check_any_labellings(EXACT, x, oracles[0].labellings, oracles[0].scores, slack)
    kept, graph_ways.QUICK = graph_ways.QUICK, 0
    try:
        loose = Graphs("trw").decode(x)
    except NoPathError:
        assert (x.edge == -np.inf).any()  # it looks for a permitted one, but does not try everything
        return
    finally:
        graph_ways.QUICK = kept
    assert (loose.bound >= best - slack).all()
    assert (loose.score <= best + slack).all()
    np.testing.assert_allclose(loose.score[loose.optimal], best[loose.optimal], atol=100 * slack)
    np.testing.assert_allclose(EXACT.labelling_score(x, loose.labels), loose.score, atol=slack)
