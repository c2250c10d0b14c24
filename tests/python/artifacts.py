"""A claim about the small study, and its authors, for tests of archives."""

CLAIMS = """
from haltere.claims import ahead, all_of, claim
from haltere.claims.comparison import compare

OVER = {"rate": ["5Mbit/s", "20Mbit/s"], "loss": ["0%", "2%"]}

@claim("QUIC finishes | sooner.", source="section 1")
def sooner(tables):
    '''QUIC's completion time is the lower one.'''
    found = compare(tables, "base", "completion_time", "transport", "quic", "tcp", over=OVER)
    return all_of(ahead("Completion time, QUIC to TCP", found.pooled(), found.metric))
"""
ARTIFACT = """
license = "CC-BY-4.0"
keywords = ["QUIC"]
[[authors]]
given = "Grace"
family = "Hopper: \\"Amazing\\""
orcid = "0000-0002-1825-0097"
affiliation = "A university"
[[authors]]
name = "The committee"
"""
