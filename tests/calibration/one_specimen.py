"""A gallery of one specimen, to spoil."""

ONE = """
specimens:
- id: one
  peer_id: priya
  conclusion: "priya hikes"
  window: [{at: "2026-01-20T11:00:00Z", peer: priya, text: "I hike"}]
  verdict: pass
"""
