"""DLRM, a recommendation model, trained by hybrid parallelism on torch.distributed.

configurations.py  the sizes of the models that can be trained
tables.py          embedding tables, and which rank owns which
exchange.py        pooled embeddings change from "my tables" to "my records", and gradients back
ways.py            the exchange by alltoall, by scatter, or by a scatter for each table
model.py           perceptrons, interaction, and the hybrid model
trainer.py         one training step: DDP or GradientSync, SGD or Split-SGD
stopwatch.py       what a step computes and what it waits for
records.py         one minibatch, and what a rank needs of it
clicks.py          random records, and a click log whose best AUC is known
criteo.py          Criteo's click logs
auc.py             the area under the ROC curve
checkpoint.py      one file a rank
options.py         the command line of train.py
progress.py        how far a training is

Source: Naumov et al., "Deep Learning Recommendation Model for Personalization and Recommendation
Systems", 2019. The hybrid step: Kalamkar et al., "Optimizing Deep Learning Recommender Systems'
Training On CPU Cluster Architectures", 2020.
"""
