"""The names of all files and folders that deepbass writes into the directories it makes. They stand nowhere else."""

from __future__ import annotations

# a run
RUN_FILE = "run.json"
RUN_DB_FILE = "run.db"
RUN_LOCK_FILE = "run.lock"  # a results folder has one, too
CHECKPOINTS_FOLDER = "checkpoints"
MODEL_FILE = "model.safetensors"  # an exported model has one, too
FEATURES_FILE = "features.safetensors"  # an exported model has one, too
FIELD_FILE = "field.npz"
NEIGHBOURS_FILE = "neighbours.f16"  # where every item of a labelling project lies, for "others like this"
QUALITY_FILE = "quality.json"
WORKERS_FILE = "workers.json"  # what the workers of a cluster have done
REPORT_FILE = "report.html"  # a results folder has one, too

# a checkpoint
CHECKPOINT_FILE = "checkpoint.json"
LEARNER_FILE = "learner.safetensors"
LABELS_FILE = "labels.safetensors"
RANKING_FILE = "ranking.safetensors"

# a labelling project
PROJECT_FILE = "project.json"
PROJECT_DB_FILE = "labels.db"
PROJECT_LOCK_FILE = "labels.lock"
MODELS_FOLDER = "models"
WEB_KEY_FILE = "web.key"
WEB_ENDED_FILE = "web.ended"

# a results folder: a matrix of cells
MATRIX_FILE = "matrix.json"
CELLS_FOLDER = "cells"
WORK_FOLDER = "work"
INITIAL_FOLDER = "initial"  # in the one before
REPORT_TEXT_FILE = "report.md"
COMPARE_FILE = "compare.html"  # a comparison has these in place of a report
COMPARE_TEXT_FILE = "compare.md"

# a session that was saved in Python: it has the files of an exported model, too
SESSION_FILE = "session.json"

# exports
MODEL_CONFIG_FILE = "config.json"
MODEL_README_FILE = "README.md"
CLASSES_FILE = "classes.json"  # of images by class, as are the next two
PEOPLE_FOLDER = "people"
MODEL_FOLDER = "model"
