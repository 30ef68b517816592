"""What Weft cannot pass of PyTorch's own tests, for a reason that lies in them or in torch."""

import re

# The tests, what they say then, and why.
EXPECTED = [
    (
        "test_ddp_logging_data_cpu$",
        "'custom' != 'weft'",
        "the test wants the backend's name, and DDP's log calls all of others 'custom'",
    ),
    (
        r"test_\w+_group(_\w+)?$",
        "Rank 2 is out of range. Valid ranks are 0 to 1",
        "the test makes a group of ranks 1 and 2, and there are two",
    ),
    (
        ".*(SyncBatchNorm|sync_bn|test_ddp_inference)",
        "SyncBatchNorm layers only work with GPU modules|SyncBatchNorm expected input",
        "torch has SyncBatchNorm for accelerators only",
    ),
    (
        "test_(average_parameters|monitored_barrier_allreduce_hang|batch_isend_irecv_mixed_backend)",
        "doesn't have NCCL built in|connectFullMesh failed",
        "the test makes a group of NCCL's beside",
    ),
    (
        "test_nccl_high_priority_stream$",
        "has no attribute 'ProcessGroupNCCL'",
        "the test is of NCCL's options",
    ),
    (
        "test_ddp_(apply_optim_in_backward|native_mixed_precision)",
        "Cannot access accelerator device|cpu backend doesn't support events",
        "DDP needs a CUDA stream for it",
    ),
    (
        "test_ddp_(device|logging_data_gpu)$",
        r"None is not \d|'' != '\d'",
        "the test looks for the index of a device",
    ),
    (
        "test_batch_isend_irecv_(self_)?nccl$",
        "a rank cannot exchange with itself",
        "the test sends to its own rank, which Weft refuses",
    ),
]


def reason_to_fail(record: dict) -> str | None:
    """Why a test was expected to fail as it has."""
    for tests, said, why in EXPECTED:
        if re.match(tests, record["test"]) and re.search(said, record["said"]):
            return why
    return None
