"""What a produce request needs beside the partitions: what is still to be answered, and the gate of transactions."""
