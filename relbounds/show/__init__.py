"""What readers see: summary, tables for papers, comparisons, figures, report."""
