"""The ids that a model reads, those that it predicts, and the loss of these."""
