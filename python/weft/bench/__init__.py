"""Measuring for `weft bench`: cases, libraries, bursts, jobs, results.

A run is some rounds; in each round every library in turn gets a *burst*: fresh processes that
measure all cases. They end before the next library's processes start. So nothing of one library
runs while another is timed. A case's samples are pooled over the rounds. Within a burst a *job*, a
text
file, goes to the library's driver, and one file of samples a rank comes back. C libraries and
Weft's core have compiled drivers (`benchmarks/`); what is called through torch.distributed has
`weft.bench.worker`. Both do the same: before a sample every owner rewrites its input and ranks
meet; a sample counts as the slowest rank's time. Up to 4 KiB a sample is a batch of operations and
its time their mean, because a clock is read in tens of nanoseconds; rewriting is then inside the
timed part for all but the first.
"""
