"""A run from its job to its results, on the devices that are there."""
