"""What the judge must reproduce before its output is trusted (1.6): the gallery and its evaluation.

``specimens.yaml`` is the gallery; ``gallery`` reads it; ``expectations`` compares an answer with
it; ``case`` judges one specimen exactly as a trace's conclusion is judged; ``stamp`` turns a whole
run of it into ``stamps/``; ``test_gallery.py`` is the evaluation, with hard asserts.
"""
