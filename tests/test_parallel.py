import os
import signal
import threading
import time

import joblib
import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.parallel import chunks, run


def scaled(task, shared):
    return task * shared.sum()


def process_of(task, shared):
    time.sleep(0.05)
    return os.getpid()


def met(task, folder):
    """Wait until a second process has come, for half a minute at most."""
    open(os.path.join(folder, str(os.getpid())), "w").close()
    end = time.monotonic() + 30
    while len(os.listdir(folder)) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    return os.getpid()


def failing(task, shared):
    if task == 3:
        raise rb.DataError("task three")
    return task


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_results_keep_their_order(n_jobs):
    seen = []
    found = run(scaled, range(7), n_jobs=n_jobs, shared=np.ones(3), progress=seen.append)
    assert found == [3.0 * k for k in range(7)] and sum(seen) == 7


def test_several_processes_work(tmp_path):
    found = set(run(met, range(8), n_jobs=2, shared=str(tmp_path)))
    assert os.getpid() not in found and len(found) == 2


def test_errors_keep_their_type():
    with pytest.raises(rb.DataError, match="task three"):
        run(failing, range(5), n_jobs=2)


def test_pieces_do_not_depend_on_the_number_of_processes():
    assert [len(piece) for piece in chunks(10, 4)] == [4, 4, 2]


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def suicidal(task, shared):
    """Kill the worker that runs the third task, the first time it does."""
    flag, values = shared
    if task == 2 and not os.path.exists(flag):
        open(flag, "w").close()
        os._exit(1)
    return task * values.sum()


def test_a_killed_worker_loses_nothing(cluster, tmp_path):
    found = run(suicidal, range(6), shared=(str(tmp_path / "died"), np.ones(4)), client=cluster)
    assert found == [4.0 * k for k in range(6)] and (tmp_path / "died").exists()


def test_a_fit_survives_a_killed_worker(cluster):
    simulated = rb.simulate.paper_set(3, noise=0.5, seed=2)
    options = {"C": 0.1, "probes": 30}
    serial = rb.relbounds(simulated.formula, simulated.data, **options)
    processes = cluster.run(os.getpid)
    killed = []

    def kill_a_busy_worker():
        while not killed:
            killed.extend([address for address, tasks in cluster.processing().items() if tasks][:1])
        os.kill(processes[killed[0]], signal.SIGKILL)

    killer = threading.Thread(target=kill_a_busy_worker, daemon=True)
    killer.start()
    fit = rb.relbounds(simulated.formula, simulated.data, client=cluster, **options)
    killer.join(timeout=30)
    assert killed and not killer.is_alive()
    pd.testing.assert_frame_equal(serial.table, fit.table, check_exact=True)


def test_joblib_config_finds_the_cluster(cluster):
    with joblib.parallel_config("dask"):
        found = set(run(process_of, range(6)))
    assert os.getpid() not in found
