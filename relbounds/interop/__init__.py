"""Other languages: R, by reticulate (bridge, plain, explore) and by rpy2 (r)."""
