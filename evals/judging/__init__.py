"""From a request to a response: rendering, isolation check, store, transports, retry, exchange."""
