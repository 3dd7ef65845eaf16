"""The compiled inner loops of sequential minimal optimisation; imported only when numba is there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

GIVEN, LINEAR, RBF = 0, 1, 2


class Rows(NamedTuple):
    """The margin rows; `ordered`: whether the order of the thresholds is a constraint."""

    sample: np.ndarray
    sign: np.ndarray
    threshold: np.ndarray
    h: np.ndarray
    upper: np.ndarray
    ordered: bool


class Cache(NamedTuple):
    """Rows of the kernel matrix, computed when first asked for; the oldest gives way.

    `store` holds rows; `slot` says where that of a sample is (-1: nowhere), `owner` whose a place is, `stamp` when
    it was last used, by `clock`. `kind` and `rate` say how a row is computed from X; `diag` is the diagonal.
    """

    kind: int
    X: np.ndarray
    rate: float
    store: np.ndarray
    slot: np.ndarray
    owner: np.ndarray
    stamp: np.ndarray
    clock: np.ndarray
    diag: np.ndarray


class State(NamedTuple):
    """Multipliers of the rows, decision values of the samples, multipliers of the order: written to as it goes."""

    alpha: np.ndarray
    f: np.ndarray
    mu: np.ndarray


class Ends(NamedTuple):
    """For each threshold the least F over rows that may go up, the greatest over rows that may go down, and where."""

    up: np.ndarray
    low: np.ndarray
    at_up: np.ndarray
    at_low: np.ndarray


class Limits(NamedTuple):
    """When to stop, and whether partners are chosen by the gain they promise."""

    tol: float
    max_steps: int
    second: bool


@njit(cache=True)
def kernel_row(i, cache):  # type: ignore[no-untyped-def]
    """Return where row i of the kernel matrix stands in the store, computing it in the oldest place if it
    is not there."""
    cache.clock[0] += 1
    place = cache.slot[i]
    if place >= 0:
        cache.stamp[place] = cache.clock[0]
        return place
    place = 0
    for s in range(cache.stamp.shape[0]):
        if cache.stamp[s] < cache.stamp[place]:
            place = s
    if cache.owner[place] >= 0:
        cache.slot[cache.owner[place]] = -1
    cache.owner[place] = i
    cache.slot[i] = place
    cache.stamp[place] = cache.clock[0]
    X, store = cache.X, cache.store
    n, d = X.shape
    for k in range(n):
        total = 0.0
        if cache.kind == LINEAR:
            for c in range(d):
                total += X[i, c] * X[k, c]
            store[place, k] = total
        else:
            for c in range(d):
                step = X[i, c] - X[k, c]
                total += step * step
            store[place, k] = np.exp(-cache.rate * total)
    return place


@njit(cache=True)
def scan(active, rows, state, own):  # type: ignore[no-untyped-def]
    """Find for each threshold the least F over rows that may go up and the greatest over rows that may go
    down."""
    sample, sign, thr, h, upper = rows.sample, rows.sign, rows.threshold, rows.h, rows.upper
    alpha, f = state.alpha, state.f
    up, low, at_up, at_low = own.up, own.low, own.at_up, own.at_low
    for j in range(up.shape[0]):
        up[j] = np.inf
        low[j] = -np.inf
        at_up[j] = -1
        at_low[j] = -1
    for k in range(active.shape[0]):
        r = active[k]
        j = thr[r]
        a = alpha[r]
        value = f[sample[r]] - sign[r] * h[r]
        if sign[r] < 0:
            can_up, can_low = a > 0.0, a < upper[r]
        else:
            can_up, can_low = a < upper[r], a > 0.0
        if can_up and value < up[j]:
            up[j] = value
            at_up[j] = r
        if can_low and value > low[j]:
            low[j] = value
            at_low[j] = r


@njit(cache=True)
def spread(ordered, mu, own, joined):  # type: ignore[no-untyped-def]
    """Join the optimality conditions of the thresholds: lower ones stay below, tied ones (mu > 0) are equal.

    A chain of ties is followed to its ends, so that any two thresholds of a chain are compared.
    """
    UP, LOW, AT_UP, AT_LOW = joined.up, joined.low, joined.at_up, joined.at_low
    m = UP.shape[0]
    for j in range(m):
        UP[j] = own.up[j]
        LOW[j] = own.low[j]
        AT_UP[j] = own.at_up[j]
        AT_LOW[j] = own.at_low[j]
    if not ordered:
        return
    for j in range(1, m):
        if LOW[j - 1] > LOW[j]:
            LOW[j] = LOW[j - 1]
            AT_LOW[j] = AT_LOW[j - 1]
    for j in range(m - 2, -1, -1):
        if UP[j + 1] < UP[j]:
            UP[j] = UP[j + 1]
            AT_UP[j] = AT_UP[j + 1]
    for j in range(m - 2, -1, -1):  # LOW grows with j, so the end of the chain decides
        if mu[j + 1] > 0.0:
            LOW[j] = LOW[j + 1]
            AT_LOW[j] = AT_LOW[j + 1]
    for j in range(1, m):
        if mu[j] > 0.0:
            UP[j] = UP[j - 1]
            AT_UP[j] = AT_UP[j - 1]


@njit(cache=True)
def worst(active, rows, state, own, joined):  # type: ignore[no-untyped-def]
    """Look at the active rows and return the threshold whose conditions are violated most."""
    scan(active, rows, state, own)
    spread(rows.ordered, state.mu, own, joined)
    UP, LOW = joined.up, joined.low
    best = 0
    for j in range(1, UP.shape[0]):
        if LOW[j] - UP[j] > LOW[best] - UP[best]:
            best = j
    return best


@njit(cache=True)
def best_partner(o, active, rows, state, kernel):  # type: ignore[no-untyped-def]
    """Return the row that promises the largest gain together with row o (second-order choice), or -1.

    `kernel`: the row of the kernel matrix of o's sample, and the diagonal.
    """
    sample, sign, thr, h, upper = rows.sample, rows.sign, rows.threshold, rows.h, rows.upper
    alpha, f, mu = state.alpha, state.f, state.mu
    Ko, diag = kernel
    jo = thr[o]
    first = jo
    last = jo
    if rows.ordered:
        while first > 0 and mu[first] > 0.0:
            first -= 1
        last = mu.shape[0] - 1
    so = sample[o]
    Fo = f[so] - sign[o] * h[o]
    gain = 0.0
    partner = -1
    for k in range(active.shape[0]):
        r = active[k]
        j = thr[r]
        if j < first or j > last:
            continue
        a = alpha[r]
        if (sign[r] < 0 and a > 0.0) or (sign[r] > 0 and a < upper[r]):
            s = sample[r]
            gap = Fo - (f[s] - sign[r] * h[r])
            if gap > 0.0:
                eta = diag[so] + diag[s] - 2.0 * Ko[s]
                if eta < 1e-12:
                    eta = 1e-12
                value = gap * gap / eta
                if value > gain:
                    gain = value
                    partner = r
    return partner


@njit(cache=True)
def update_pair(o, u, rows, state, eta):  # type: ignore[no-untyped-def]
    """Optimise the pair (o, u), and the order multipliers between their thresholds; return the step taken."""
    sample, sign, thr, h, upper = rows.sample, rows.sign, rows.threshold, rows.h, rows.upper
    alpha, f, mu = state.alpha, state.f, state.mu
    jo, ju = thr[o], thr[u]
    gap = (f[sample[o]] - sign[o] * h[o]) - (f[sample[u]] - sign[u] * h[u])
    # The largest step the box allows each of the two, then the order multipliers.
    room_o = alpha[o] if sign[o] > 0 else upper[o] - alpha[o]
    room_u = upper[u] - alpha[u] if sign[u] > 0 else alpha[u]
    room = min(room_o, room_u)
    tie = -1
    if jo > ju:
        for j in range(ju + 1, jo + 1):
            if mu[j] < room:
                room = mu[j]
                tie = j
    step = room
    bounded = True
    if eta > 1e-12 and gap / eta < room:
        step = gap / eta
        bounded = False
    alpha[o] -= sign[o] * step
    alpha[u] += sign[u] * step
    if jo < ju:
        for j in range(jo + 1, ju + 1):
            mu[j] += step
    elif jo > ju:
        for j in range(ju + 1, jo + 1):
            mu[j] -= step
            if mu[j] < 1e-13 * upper[o]:
                mu[j] = 0.0
    if bounded:  # what reached its bound is there exactly
        if tie >= 0:
            mu[tie] = 0.0
        elif room_o <= room_u:
            alpha[o] = 0.0 if sign[o] > 0 else upper[o]
            if room_u == room_o:
                alpha[u] = upper[u] if sign[u] > 0 else 0.0
        else:
            alpha[u] = upper[u] if sign[u] > 0 else 0.0
    for r in (o, u):
        if alpha[r] < 1e-12 * upper[r]:
            alpha[r] = 0.0
        elif alpha[r] > (1.0 - 1e-12) * upper[r]:
            alpha[r] = upper[r]
    return step


@njit(cache=True)
def samples_of(active, sample, n):  # type: ignore[no-untyped-def]
    """Return the samples that have an active row."""
    seen = np.zeros(n, np.bool_)
    for k in range(active.shape[0]):
        seen[sample[active[k]]] = True
    return np.flatnonzero(seen)


@njit(cache=True)
def keep_rows(active, rows, state, joined, slack):  # type: ignore[no-untyped-def]
    """Return the rows between their bounds and those at a bound that violate, or nearly violate, a
    condition."""
    sign, upper = rows.sign, rows.upper
    kept = np.empty(active.shape[0], np.int64)
    count = 0
    for k in range(active.shape[0]):
        r = active[k]
        j = rows.threshold[r]
        a = state.alpha[r]
        value = state.f[rows.sample[r]] - sign[r] * rows.h[r]
        if a > 0.0 and a < upper[r]:
            keep = True
        elif (sign[r] < 0) == (a <= 0.0):  # may only go down: a '-' row at 0 or a '+' row at its limit
            keep = value > joined.up[j] - slack
        else:
            keep = value < joined.low[j] + slack
        if keep:
            kept[count] = r
            count += 1
    return kept[:count].copy()


@njit(cache=True)
def missing(members, others, n):  # type: ignore[no-untyped-def]
    """Return the samples of `others` that are not among the members."""
    out = np.zeros(n, np.bool_)
    for k in range(others.shape[0]):
        out[others[k]] = True
    for k in range(members.shape[0]):
        out[members[k]] = False
    return np.flatnonzero(out)


@njit(cache=True)
def tell(who, pending, sign, state, cache):  # type: ignore[no-untyped-def]
    """Add (sign 1) to the decision values of some samples what has changed, or take it back (sign -1)."""
    f = state.f
    for i in range(pending.shape[0]):
        if pending[i] != 0.0:
            row = cache.store[kernel_row(i, cache)]
            for k in range(who.shape[0]):
                f[who[k]] += sign * pending[i] * row[who[k]]


@njit(cache=True)
def take_step(pair, members, rows, state, cache):  # type: ignore[no-untyped-def]
    """Optimise a pair and bring the decision values of the members up to date; return the step."""
    o, u = pair
    so, su = rows.sample[o], rows.sample[u]
    Ko = cache.store[kernel_row(so, cache)]
    Ku = cache.store[kernel_row(su, cache)]
    eta = cache.diag[so] + cache.diag[su] - 2.0 * Ko[su]
    step = update_pair(o, u, rows, state, eta)
    if so != su:
        f = state.f
        for k in range(members.shape[0]):
            i = members[k]
            f[i] += step * (Ku[i] - Ko[i])
    return step


@njit(cache=True)
def shrink(active, members, pending, joined, problem):  # type: ignore[no-untyped-def]
    """Leave out rows that no longer matter, if they are many; return what stays active, and its samples.

    Samples that leave must be told later what changes from now on; those that left before are owed all of it.
    Bringing the first ones to the common date keeps one ledger for both.
    """
    rows, state, cache = problem
    if active.shape[0] == rows.sample.shape[0]:
        pending[:] = 0.0  # everybody is up to date: changes count from here
    smaller = keep_rows(active, rows, state, joined, 0.0)
    if smaller.shape[0] >= 0.9 * active.shape[0]:
        return active, members
    fewer = samples_of(smaller, rows.sample, pending.shape[0])
    if fewer.shape[0] < members.shape[0]:
        tell(missing(fewer, members, pending.shape[0]), pending, -1.0, state, cache)
    return smaller, fewer


@njit(cache=True)
def smo(rows, state, cache, limits):  # type: ignore[no-untyped-def]
    """Run SMO from the state it is given, which is written to.

    Returns the steps taken, the last violation, and the steps across thresholds.

    Double loop: the inner loop works on the rows that still matter; the outer one brings the decision
    values of all samples up to date, checks every row, and lets the inner loop go on from there.
    """
    n, size, m = cache.diag.shape[0], rows.sample.shape[0], state.mu.shape[0]
    own = Ends(np.empty(m), np.empty(m), np.empty(m, np.int64), np.empty(m, np.int64))
    joined = Ends(np.empty(m), np.empty(m), np.empty(m, np.int64), np.empty(m, np.int64))
    everything, everybody = np.arange(size), np.arange(n)
    pending = np.zeros(n)  # change of beta that inactive samples have not seen
    steps = crossed = 0
    period = min(size, 1000)
    active = everything
    members = samples_of(active, rows.sample, n)
    until_shrink = period
    violation = np.inf
    while steps < limits.max_steps:
        j = worst(active, rows, state, own, joined)
        violation = joined.low[j] - joined.up[j]
        if violation <= limits.tol:
            if active.shape[0] == size:
                break
            # Outer loop: bring everybody up to date and look at every row again.
            tell(missing(members, everybody, n), pending, 1.0, state, cache)
            pending[:] = 0.0
            j = worst(everything, rows, state, own, joined)
            violation = joined.low[j] - joined.up[j]
            if violation <= limits.tol:
                break
            active = keep_rows(everything, rows, state, joined, 0.1)
            members = samples_of(active, rows.sample, n)
            until_shrink = period
            continue
        if until_shrink <= 0 and active.shape[0] > 2:
            active, members = shrink(active, members, pending, joined, (rows, state, cache))
            until_shrink = period
            continue
        until_shrink -= 1
        o, u = joined.at_low[j], joined.at_up[j]
        if limits.second:
            Ko = cache.store[kernel_row(rows.sample[o], cache)]
            partner = best_partner(o, active, rows, state, (Ko, cache.diag))
            if partner >= 0:
                u = partner
        if rows.threshold[o] != rows.threshold[u]:
            crossed += 1
        step = take_step((o, u), members, rows, state, cache)
        steps += 1
        if rows.sample[o] != rows.sample[u]:
            pending[rows.sample[o]] -= step
            pending[rows.sample[u]] += step
    return steps, violation, crossed
