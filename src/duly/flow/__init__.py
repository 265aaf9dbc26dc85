"""What happens to a job, one verb a file: register, edit, plan, claim, execute, finish, rescue.

A verb takes its stores and `now`, does one bounded piece of work, and returns what happened. It
never loops over time, never sleeps, never reads a clock, and says in its docstring why a crash at
any line is harmless. Loops and signals live in `services/`.
"""
