"""What is reported about schedules.

``explanation``
    Why a job started when it did.
``summary``
    The metrics of one schedule as text.
``comparison``
    The metrics of several schedules, side by side.
``jobs_table``
    All jobs of a schedule as CSV.
``charts``
    Drawings of schedules.
``page``
    All of this in one HTML file, whose scripts and styles are in ``_html``.
"""
