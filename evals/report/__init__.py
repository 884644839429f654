"""Pages and terminal text of a run: pure functions of its record (design section 3).

``headline_html`` and ``rows`` fill pytest-html's ``report.html``, with the rows that ``shown``
chooses; ``write_cases`` makes the page of cases beside it; ``summary_lines`` ends the run in the
terminal. Numbers are written in ``numbers``.
"""
