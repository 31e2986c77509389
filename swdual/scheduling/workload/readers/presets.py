"""The columns of published tables, by the names of presets.

Each was taken from the description that the authors publish, not from a copy of the data:
docs/traces.md names the pages. A column may be followed by ``*`` and a factor that makes seconds,
KB or watts of its values.
"""

from __future__ import annotations

from collections.abc import Mapping

PRESETS: Mapping[str, Mapping[str, str]] = {
    "fdata": {
        **{"number": "jid", "submit_time": "adt", "start_time": "sdt", "end_time": "edt"},
        **{"run_time": "duration", "requested_time": "elpl", "status": "exit state"},
        **{"allocated_processors": "cnumat", "requested_processors": "cnumr", "nodes": "nnumr"},
        **{"user": "usr", "executable": "jnam", "power": "avgpcon"},
    },
    "pm100": {
        **{"number": "job_id", "submit_time": "submit_time", "start_time": "start_time"},
        **{"run_time": "run_time", "requested_time": "time_limit*60", "status": "job_state"},
        **{"allocated_processors": "num_cores_alloc", "requested_processors": "num_cores_req"},
        **{"nodes": "num_nodes_req", "gpus": "num_gpus_req", "job_memory": "mem_req*1048576"},
        **{"user": "user_id", "group": "group_id", "partition": "partition", "queue": "qos"},
        "power": "node_power_consumption",
    },
    "helios": {
        **{"number": "job_id", "submit_time": "submit_time", "start_time": "start_time"},
        **{"run_time": "duration", "processors": "cpu_num", "nodes": "node_num"},
        **{"gpus": "gpu_num", "status": "state", "user": "user", "partition": "vc"},
    },
}
