"""What counts as zero: how relevant noise can look, and the classes that follow."""
