"""Who reads which partition: the assignors that run on the server, by the names that members ask for them with."""
