collect_ignore = ["fixtures/make_fri.py"]  # runs with fri in an environment of its own
