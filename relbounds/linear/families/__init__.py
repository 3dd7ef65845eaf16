"""The loss of each kind of response, as rows of a linear program."""
