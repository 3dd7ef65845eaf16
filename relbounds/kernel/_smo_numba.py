"""The compiled inner loops of sequential minimal optimisation; imported only when numba is there."""

from __future__ import annotations

import numpy as np
from numba import njit

GIVEN, LINEAR, RBF = 0, 1, 2


@njit(cache=True)
def kernel_row(i, kind, X, rate, store, slot, owner, stamp, clock):  # type: ignore[no-untyped-def]
    """Return where row i of the kernel matrix stands in the store, computing it in the oldest place if it
    is not there."""
    clock[0] += 1
    place = slot[i]
    if place >= 0:
        stamp[place] = clock[0]
        return place
    place = 0
    for s in range(stamp.shape[0]):
        if stamp[s] < stamp[place]:
            place = s
    if owner[place] >= 0:
        slot[owner[place]] = -1
    owner[place] = i
    slot[i] = place
    stamp[place] = clock[0]
    n, d = X.shape
    for k in range(n):
        total = 0.0
        if kind == LINEAR:
            for c in range(d):
                total += X[i, c] * X[k, c]
            store[place, k] = total
        else:
            for c in range(d):
                step = X[i, c] - X[k, c]
                total += step * step
            store[place, k] = np.exp(-rate * total)
    return place


@njit(cache=True)
def scan(active, sample, sign, thr, h, upper, alpha, f, up, low, at_up, at_low):  # type: ignore[no-untyped-def]
    """Find for each threshold the least F over rows that may go up and the greatest over rows that may go
    down."""
    m = up.shape[0]
    for j in range(m):
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
def spread(ordered, mu, up, low, at_up, at_low, UP, LOW, AT_UP, AT_LOW):  # type: ignore[no-untyped-def]
    """Join the optimality conditions of the thresholds: lower ones stay below, tied ones (mu > 0) are equal.

    A chain of ties is followed to its ends, so that any two thresholds of a chain are compared.
    """
    m = up.shape[0]
    for j in range(m):
        UP[j] = up[j]
        LOW[j] = low[j]
        AT_UP[j] = at_up[j]
        AT_LOW[j] = at_low[j]
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
def worst(UP, LOW):  # type: ignore[no-untyped-def]
    """Return the threshold whose conditions are violated most."""
    best = 0
    for j in range(1, UP.shape[0]):
        if LOW[j] - UP[j] > LOW[best] - UP[best]:
            best = j
    return best


@njit(cache=True)
def best_partner(o, active, sample, sign, thr, h, upper, alpha, f, ordered, mu, Ko, diag):  # type: ignore[no-untyped-def]
    """Return the row that promises the largest gain together with row o (second-order choice), or -1."""
    jo = thr[o]
    first = jo
    last = jo
    if ordered:
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
def update_pair(o, u, sample, sign, thr, h, upper, alpha, mu, f, eta):  # type: ignore[no-untyped-def]
    """Optimise the pair (o, u), and the order multipliers between their thresholds; return the step taken."""
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
def keep_rows(active, sample, sign, thr, h, upper, alpha, f, UP, LOW, slack):  # type: ignore[no-untyped-def]
    """Return the rows between their bounds and those at a bound that violate, or nearly violate, a
    condition."""
    kept = np.empty(active.shape[0], np.int64)
    count = 0
    for k in range(active.shape[0]):
        r = active[k]
        j = thr[r]
        a = alpha[r]
        value = f[sample[r]] - sign[r] * h[r]
        if a > 0.0 and a < upper[r]:
            keep = True
        elif (sign[r] < 0) == (a <= 0.0):  # may only go down: a '-' row at 0 or a '+' row at its limit
            keep = value > UP[j] - slack
        else:
            keep = value < LOW[j] + slack
        if keep:
            kept[count] = r
            count += 1
    return kept[:count].copy()


@njit(cache=True)
def smo(  # type: ignore[no-untyped-def]
    kind,
    X,
    rate,
    store,
    slot,
    owner,
    stamp,
    diag,
    sample,
    sign,
    thr,
    h,
    upper,
    m,
    ordered,
    tol,
    max_steps,
    second,
    alpha,
    f,
    mu,
):
    """Run SMO from alpha, with its decision values f and order multipliers mu (all three are written to).

    Returns alpha, f, the steps taken, the last violation, and the steps across thresholds.

    Double loop: the inner loop works on the rows that still matter; the outer one brings the decision
    values of all samples up to date, checks every row, and lets the inner loop go on from there.
    """
    n, size = diag.shape[0], sample.shape[0]
    up, low, UP, LOW = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    at_up, at_low = np.empty(m, np.int64), np.empty(m, np.int64)
    AT_UP, AT_LOW = np.empty(m, np.int64), np.empty(m, np.int64)
    clock = np.zeros(1, np.int64)
    clock[0] = stamp.max() + 1
    everything = np.arange(size)
    pending = np.zeros(n)  # change of beta that inactive samples have not seen
    stale = np.zeros(n, np.bool_)
    steps = 0
    crossed = 0
    period = min(size, 1000)
    active = everything
    members = samples_of(active, sample, n)
    until_shrink = period
    violation = np.inf
    while steps < max_steps:
        scan(active, sample, sign, thr, h, upper, alpha, f, up, low, at_up, at_low)
        spread(ordered, mu, up, low, at_up, at_low, UP, LOW, AT_UP, AT_LOW)
        j = worst(UP, LOW)
        violation = LOW[j] - UP[j]
        if violation <= tol:
            if active.shape[0] == size:
                break
            # Outer loop: bring everybody up to date and look at every row again.
            for i in range(n):
                stale[i] = True
            for k in range(members.shape[0]):
                stale[members[k]] = False
            outdated = np.flatnonzero(stale)
            for i in range(n):
                if pending[i] != 0.0:
                    row = store[kernel_row(i, kind, X, rate, store, slot, owner, stamp, clock)]
                    for k in range(outdated.shape[0]):
                        f[outdated[k]] += pending[i] * row[outdated[k]]
                    pending[i] = 0.0
            scan(everything, sample, sign, thr, h, upper, alpha, f, up, low, at_up, at_low)
            spread(ordered, mu, up, low, at_up, at_low, UP, LOW, AT_UP, AT_LOW)
            j = worst(UP, LOW)
            violation = LOW[j] - UP[j]
            if violation <= tol:
                break
            active = keep_rows(everything, sample, sign, thr, h, upper, alpha, f, UP, LOW, 0.1)
            members = samples_of(active, sample, n)
            until_shrink = period
            continue
        if until_shrink <= 0 and active.shape[0] > 2:
            if active.shape[0] == size:
                for i in range(n):  # everybody is up to date: changes count from here
                    pending[i] = 0.0
            smaller = keep_rows(active, sample, sign, thr, h, upper, alpha, f, UP, LOW, 0.0)
            if smaller.shape[0] < 0.9 * active.shape[0]:
                # Samples that leave must be told later what changes from now on; those that left before are
                # owed all of it. Bringing the first ones to the common date keeps one ledger for both.
                fewer = samples_of(smaller, sample, n)
                if fewer.shape[0] < members.shape[0]:
                    for i in range(n):
                        stale[i] = False
                    for k in range(members.shape[0]):
                        stale[members[k]] = True
                    for k in range(fewer.shape[0]):
                        stale[fewer[k]] = False
                    leaving = np.flatnonzero(stale)
                    for i in range(n):
                        if pending[i] != 0.0:
                            row = store[kernel_row(i, kind, X, rate, store, slot, owner, stamp, clock)]
                            for k in range(leaving.shape[0]):
                                f[leaving[k]] -= pending[i] * row[leaving[k]]
                active, members = smaller, fewer
            until_shrink = period
            continue
        until_shrink -= 1
        o, u = AT_LOW[j], AT_UP[j]
        Ko = store[kernel_row(sample[o], kind, X, rate, store, slot, owner, stamp, clock)]
        if second:
            partner = best_partner(o, active, sample, sign, thr, h, upper, alpha, f, ordered, mu, Ko, diag)
            if partner >= 0:
                u = partner
        Ku = store[kernel_row(sample[u], kind, X, rate, store, slot, owner, stamp, clock)]
        eta = diag[sample[o]] + diag[sample[u]] - 2.0 * Ko[sample[u]]
        if thr[o] != thr[u]:
            crossed += 1
        step = update_pair(o, u, sample, sign, thr, h, upper, alpha, mu, f, eta)
        steps += 1
        if sample[o] != sample[u]:
            pending[sample[o]] -= step
            pending[sample[u]] += step
            for k in range(members.shape[0]):
                i = members[k]
                f[i] += step * (Ku[i] - Ko[i])
    return alpha, f, steps, violation, crossed
