"""What a fetch needs beside the partitions: its session, what is read ahead, waiting, and ranges of files to send."""
