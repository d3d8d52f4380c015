"""The requests that change metadata, one file for each API: a decision on an image, and a refusal.

`decide(image, request, context)` returns the records and the response. A BrokerError that it raises is about the
request as a whole, and `refuse(request, error)` is the response then. Nothing here changes anything.
"""
