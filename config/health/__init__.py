"""Addresses for machines that ask whether all is well. They need no session, cache or template.

gate      answers them before any other part of the site is asked
guard     who may see what is in them
answers   /healthz, /readyz and /livez/delivery
metrics   /metrics, for Prometheus
"""
