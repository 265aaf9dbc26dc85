"""The processes: scheduler, worker, API server, and the supervisor over them.

Waiting, loops and signals live here and nowhere else; what a service does each time round is a
verb of `flow/`.
"""
