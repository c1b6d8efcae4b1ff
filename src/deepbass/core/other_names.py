"""What settings are called elsewhere, and which one is meant; where there is none, why not."""

from __future__ import annotations

MEANT = {
    "lr": "learning_rate",
    "learning_rate_init": "learning_rate",
    "bs": "batch_size",
    "weight_decay": "l2",
    "alpha": "l2",
    "random_state": "seed",
    "n_epochs": "epochs",
    "max_epochs": "epochs",
    "max_iter": "iterations",
    "n_iter": "iterations",
    "query_size": "ask_count",
    "n_queries": "ask_count",
    "n_instances": "ask_count",
    "strategy": "acquire",
    "query_strategy": "acquire",
    "heuristic": "acquire",
    "threshold": "admit",
    "val_split": "validation",
    "validation_split": "validation",
    "test_size": "validation",
    "dropout_rate": "dropout",
    "n_labels": "budget",
    "max_labels": "budget",
    "backbone": "features",
    "metric": "all are measured in every iteration (accuracy, balanced accuracy, macro F1, recall, calibration): look "
    "into `history` of the result",
    "scoring": "all are measured in every iteration: look into `history` of the result",
    "optimiser": "optimizer",
    "scheduler": "schedule",
    "lr_scheduler": "schedule",
    "criterion": "loss",
    "n_jobs": "threads are torch's: torch.set_num_threads, or OMP_NUM_THREADS",
    "verbose": "pass watch=deepbass.Watch(on_metrics=...) to look on",
}
