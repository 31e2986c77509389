"""A search server: databases and kernels stay ready, searches come by HTTP.

``media_types``
    The media type of each output format, and which format a client accepts.
``requests``
    The fields of a request: one description validates them and is part of the OpenAPI document.
``limits``
    How much the server, and each of its clients, may ask for.
``spool``
    The result of a job in a temporary file, read while it is written.
``jobs``
    Jobs, their queue, and the searches that they run in threads.
``problems``
    Refusals and failures as RFC 9457 tells them.
``tokens``
    The secrets by which a server knows its clients.
``guard``
    What every request passes: the name of the host, the token, the number of requests at a time.
``events``
    The progress of a job as server-sent events.
``connections``
    How many connections there may be, and how long one may say or take nothing.
``app``
    The addresses of the server.
``description``
    The OpenAPI document.
``metrics``
    What the server has done, for Prometheus.
``service``
    Opens the databases, runs the server, and stops it.
``answers``
    What a server answers, checked.
``client``
    Sends a search to a server.
``agents``
    Searches and more as tools for agents, by the Model Context Protocol.
"""
