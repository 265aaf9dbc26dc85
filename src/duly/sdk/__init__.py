"""The client: Duly's HTTP API as Python calls.

```python
from duly.sdk import Client

with Client("http://127.0.0.1:7437", token) as duly:
    job = duly.add_job({"name": "report", "schedule": "daily 02:00", "command": {"shell": "make"}})
    print(job["id"], job["next_run"])
```
"""

from duly.sdk.client import Client, Job, Run
from duly.sdk.errors import ApiError, ServerUnreachable
from duly.sdk.imports import Imported

__all__ = ["ApiError", "Client", "Imported", "Job", "Run", "ServerUnreachable"]
