"""The answer store: every paid answer, and the finished rows of a run, in one SQLite file (WAL).

``schema`` says which tables there are, ``file`` opens and guards the file, ``answers``, ``batches``
and ``deliveries`` are what is in it. ``claims`` keeps two runs from asking the same at once.
"""

from evals.judging.store.answers import AnswerStore, StoredAnswer, same_message
from evals.judging.store.batches import Batches, OpenBatch
from evals.judging.store.claims import Claims
from evals.judging.store.deliveries import Deliveries
from evals.judging.store.file import StoreFile
from evals.judging.store.schema import APPLICATION_ID, SCHEMA_VERSION

__all__ = [
    "APPLICATION_ID",
    "SCHEMA_VERSION",
    "AnswerStore",
    "Batches",
    "Claims",
    "Deliveries",
    "OpenBatch",
    "StoreFile",
    "StoredAnswer",
    "same_message",
]
