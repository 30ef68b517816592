"""What `weft bench` measures, and how: cases, patterns, runners, rank processes, results.

All libraries are measured in the same processes, one sample of each in turn (A B A B ...). A
sample begins with a barrier of Weft's, is timed on every rank, and counts as the slowest rank's
time. Before each operation its owner rewrites the input, for the first of a sample outside of the
timed part. Up to 4 KiB a sample is a batch of operations and its time their mean, because a
clock is read in tens of nanoseconds; rewriting is then inside the timed part for all but the first.
"""
