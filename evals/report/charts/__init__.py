"""Charts as inline SVG, drawn by pygal: no script, no network, the same input the same picture.

Colours come from CSS (``currentColor`` and the page's palette), so a chart fits light and dark.
``bars`` and ``scatter`` draw; ``premise``, ``coverage``, ``set_level`` and ``composite`` say what.
"""
