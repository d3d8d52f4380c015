"""Groups whose members agree among themselves: they join, one of them assigns, all ask for what is theirs."""
