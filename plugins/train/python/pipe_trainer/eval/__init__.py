"""The scores of a model, and the text that it writes."""
