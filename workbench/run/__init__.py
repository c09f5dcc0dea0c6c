"""Running graders: suites, runs, their files, Dask and batches."""
