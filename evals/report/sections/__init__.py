"""The parts of the first screen of ``report.html``, one an instrument: values for its templates."""
