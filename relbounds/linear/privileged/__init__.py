"""Features known for training rows only: slacks that are functions of them, or a teacher."""
