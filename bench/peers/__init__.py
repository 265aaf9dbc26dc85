"""Other schedulers and queues on PostgreSQL, measured so that Duly stands beside them.

Each has an environment of its own (`install.py`) and is never a dependency of Duly.
"""
