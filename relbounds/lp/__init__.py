"""Linear programs over the polytope of equally good models."""
