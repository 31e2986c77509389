"""Pages of a report: one HTML file that holds its data and needs nothing else.

Nothing here knows what is reported. A report has scripts and styles of its own, which follow these.

``elements``
    Facts, tables and sections of the text, which need no script.
``page``
    Writes a page: policy, styles, data, text, script.

Every page has the script files of this folder (elements, data, the state in the address, tables of
any columns) and its style sheet.
"""
