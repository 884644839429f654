"""The batch transport: every round of requests that have no answer yet goes as Message Batches.

``spool``: requests of a round -> upload bodies on disk, within the limits of one batch.
``wire``, ``api``: what the Batches API says, and one exchange with it.
``sending``: a spooled batch -> the server's id for it, without sending it twice.
``failures``: what becomes of a request that no batch has answered.
``intake``: result lines -> the answer store, joined by custom id.
``walk``: one case, evaluated as far as the answers reach.
``engine``: the judge of a batch run: rounds of walking, sending, waiting and taking in.
"""
