"""The area under the ROC curve: how often a click is scored above a record without a click."""

from __future__ import annotations

import torch


def auc(scores: torch.Tensor, labels: torch.Tensor) -> float:
    """The share of (click, no click) pairs whose click has the higher score; a tie counts half.

    Args:
        scores: (records,), any scale.
        labels: (records,), 0 or 1. Not all equal.

    Source: Mann and Whitney's U statistic.
    """
    clicks = labels.sum().double()
    others = len(labels) - clicks
    if clicks == 0 or others == 0:
        raise ValueError(f"AUC needs clicks and others: {int(clicks)} of {len(labels)} are clicks")
    ranks = _ranks(scores)
    return float((ranks[labels == 1].sum() - clicks * (clicks + 1) / 2) / (clicks * others))


def expected_auc(probabilities: torch.Tensor) -> float:
    """The AUC that the probabilities themselves reach on average, as scores: nothing beats it.

    The expected number of rightly ordered pairs, over the expected number of pairs.
    """
    p = probabilities.double().sort().values
    # With distinct probabilities p[0] < p[1] < ..., record j is right above each i < j.
    below = torch.cat([p.new_zeros(1), (1 - p).cumsum(0)[:-1]])
    pairs = p.sum() * (1 - p).sum() - (p * (1 - p)).sum()
    return float((p * below).sum() / pairs)


def _ranks(scores: torch.Tensor) -> torch.Tensor:
    """1 for the lowest score; equal scores share the mean of their ranks."""
    _, inverse, counts = scores.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    return (last - (counts - 1) / 2)[inverse]
