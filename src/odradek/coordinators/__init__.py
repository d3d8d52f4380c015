"""Coordinators keep their state on an internal topic: groups now, transactions later, over one runtime.

command -> records and answers -> appended -> replayed -> the answers leave
"""
