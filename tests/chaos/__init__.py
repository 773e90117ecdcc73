"""Random faults of everything at once, for a while; then every row is accounted for.

plan (what a seed means) -> scene (server, network, recipient, channels) -> crew (processes) ->
faults (what is done to them) -> account (what it came to) -> report.
"""
