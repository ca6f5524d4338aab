"""How many threads a pipeline has."""

MAX_THREADS = 16  # `data.num_workers` beyond that are parallel calls of the per-file loaders, never threads
