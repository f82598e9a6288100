"""The oracle of segments between sites: enumerates all paths in plain Python, and random scores to try."""

import numpy as np

from crfkit.inference import Barriers, Entries, SiteLattice, Sites


def all_paths(x: SiteLattice, sequence: int):
    """Yield every (list of (begin, end, label), score) of one sequence, site by site."""
    s = x.sites
    place = s.place[s.bounds[sequence] : s.bounds[sequence + 1]].tolist()
    content = x.content[s.offsets[sequence] : s.offsets[sequence + 1]]
    opens, closes = entries_of(s.opens, x.open, s, sequence), entries_of(s.closes, x.close, s, sequence)
    if not place or place[-1] == 0:
        yield [], 0.0
        return

    def paths_from(site):
        if site == len(place) - 1:
            yield [], 0.0
        for y in range(s.n_labels):
            if site not in opens[y]:
                continue
            for to in closes[y]:
                score = opens[y][site] + closes[y][to] + segment(y, place[site], place[to])
                if place[to] > place[site] and score > -np.inf:
                    for rest, more in paths_from(to):
                        yield [(place[site], place[to], y), *rest], score + more

    def segment(y, b, e):
        if e <= b or any(b <= p and e >= q for p, q in barriers_of(s, sequence, y)):
            return -np.inf
        K, table = x.longest, s.table[y]
        total = content[b:e, s.track[y]].sum() if s.track[y] >= 0 else 0.0
        if e - b > K:
            return total + x.lengths[table, K - 1] + (e - b - K) * x.tail[table]
        return total + x.lengths[table, e - b - 1]

    yield from paths_from(0)


def entries_of(entries, scores, sites, sequence):
    """Return, per label, the score of each site."""
    found = []
    for y in range(sites.n_labels):
        at = sequence * sites.n_labels + y
        mine = slice(entries.bounds[at], entries.bounds[at + 1])
        found.append(dict(zip(entries.site[mine].tolist(), scores[mine].tolist(), strict=True)))
    return found


def barriers_of(sites, sequence, label):
    own = sites.barrier_sets[label]
    if own < 0:
        return []
    at = sequence * sites.n_sets + own
    mine = slice(sites.barriers.bounds[at], sites.barriers.bounds[at + 1])
    return list(zip(sites.barriers.last_begin[mine], sites.barriers.first_end[mine], strict=True))


def random_sites(seed, lengths, n_labels, *, scale=1.0, longest=3, share=0.8, tail=0.5, barred=0.5):
    """Return random scores; ``share``: of places that open or close a label, ``tail``: of tables with one."""
    rng = np.random.default_rng(seed)
    place, bounds = [], [0]
    entries = {"opens": ([0], []), "closes": ([0], [])}
    barriers, n_sets = ([0], [], []), 2
    for T in lengths:
        inner = np.repeat(np.arange(1, T), rng.choice(3, max(T - 1, 0), p=(0.1, 0.6, 0.3)))
        own = np.concatenate([[0], inner, [T]])
        place.append(own)
        bounds.append(bounds[-1] + len(own))
        for counts, sites in entries.values():
            for _ in range(n_labels):
                mine = []
                for t in range(T + 1):
                    here = np.flatnonzero(own == t)
                    if len(here) and rng.random() < share:
                        mine.append(rng.choice(here))
                sites += mine
                counts.append(counts[-1] + len(mine))
        for _ in range(n_sets):
            n = rng.integers(0, 3) if rng.random() < barred and T else 0
            p = np.sort(rng.integers(0, max(T, 1), n))
            barriers[1].extend(p)
            barriers[2].extend(np.sort(p + rng.integers(2, 4, n)))
            barriers[0].append(barriers[0][-1] + n)
    M, C, T = 2, 2, int(sum(lengths))
    sites = Sites(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.array(bounds),
        np.concatenate(place),
        *(Entries(np.array(counts), np.array(own, np.int32)) for counts, own in entries.values()),
        track=rng.integers(-1, C, n_labels).astype(np.int32),
        table=rng.integers(0, M, n_labels).astype(np.int32),
        barriers=Barriers(*(np.array(part, np.int64) for part in barriers)),
        barrier_set=rng.integers(-1, n_sets, n_labels).astype(np.int32),
    )
    lengths_ = rng.normal(scale=scale, size=(M, longest))
    lengths_[rng.random(lengths_.shape) < 0.1] = -np.inf
    opened = rng.normal(scale=scale, size=len(sites.opens.site))
    opened[rng.random(len(opened)) < 0.05] = -np.inf
    return SiteLattice(
        sites,
        opened,
        rng.normal(scale=scale, size=len(sites.closes.site)),
        rng.normal(scale=scale, size=(T, C)),
        lengths_,
        np.where(rng.random(M) < tail, rng.normal(scale=scale, size=M), -np.inf),
    )
