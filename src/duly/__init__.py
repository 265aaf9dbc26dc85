"""Duly: a job scheduler that starts every run on time and once."""

__version__ = "0.1.0"
