"""The bundled trainer of pipe: a decoder language model in plain JAX."""

