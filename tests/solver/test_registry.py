"""Engines register themselves."""

import sys
from types import ModuleType

import numpy as np
from problems import feature_directions, random_polytope

from relbounds.solver.engines import registry
from relbounds.solver.engines.batch import push_batch
from relbounds.solver.engines.dispatch import push_many


def test_a_new_engine_is_one_module_with_an_engine_in_it(monkeypatch):
    asked = []

    def push(polytope, directions):
        asked.append(len(directions))
        return push_batch(polytope, directions)

    module = ModuleType("relbounds.solver.engines.toy")
    module.ENGINE = registry.Engine("toy", push, then=("simplex",))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    listed = list(registry.pkgutil.iter_modules(registry.folder.__path__))
    more = [*listed, listed[0]._replace(name="toy")]
    monkeypatch.setattr(registry.pkgutil, "iter_modules", lambda path: more)
    polytope, _ = random_polytope(0)
    directions = feature_directions(polytope.model)
    found = push_many(polytope, directions, "toy")
    assert asked == [len(directions)]
    assert set(found.solver) == {"toy"}
    assert np.all(found.gap <= 1e-6 * polytope.size)
