"""One file per API. Each begins with the versions it serves, and tells what it does not do yet."""
