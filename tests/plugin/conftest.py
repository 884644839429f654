from tests.messages_api.fixtures import messages_api, messages_api_process
from tests.plugin.runs import KEY, ROOT, Evaluations, Finished, MakeTrace, evaluations, make_trace

__all__ = [
    "KEY",
    "ROOT",
    "Evaluations",
    "Finished",
    "MakeTrace",
    "evaluations",
    "make_trace",
    "messages_api",
    "messages_api_process",
]
