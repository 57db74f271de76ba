"""The parameters of a model, and its hidden states from ids."""
