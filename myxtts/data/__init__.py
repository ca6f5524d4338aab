"""From a step number to a batch: order, buckets, pipeline, device staging. Never imports models or training."""
