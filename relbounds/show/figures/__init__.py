"""One file a figure; matplotlib and seaborn load when one is drawn."""
