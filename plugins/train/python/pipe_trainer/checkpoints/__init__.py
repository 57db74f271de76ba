"""Checkpoints, what is kept of them, and what continues from one."""
