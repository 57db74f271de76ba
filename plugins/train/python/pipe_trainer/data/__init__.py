"""Rows, the labels and the text in them, and their way to the devices."""
