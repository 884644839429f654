from tests.messages_api.fixtures import messages_api, messages_api_process
from tests.plugin.runs import evaluations, make_trace

__all__ = ["evaluations", "make_trace", "messages_api", "messages_api_process"]
