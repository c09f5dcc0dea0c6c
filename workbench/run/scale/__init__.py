"""Suites over data of other engines: plain batches, and Dask's partitions on a cluster."""
