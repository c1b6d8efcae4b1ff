"""The files for Ray's launcher and for KubeRay are what their readers take, as far as these run here."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from ray import __version__ as ray_version
from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr as read_cluster
from ray.autoscaler._private.util import prepare_config, validate_config

from deepbass import __version__

DEPLOY = Path(__file__).parents[2] / "deploy"
LAUNCHED = ("ray-machines.yaml", "ray-aws-spot.yaml")


def launcher_config(name: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((DEPLOY / name).read_text())
    return config


@pytest.mark.parametrize("name", LAUNCHED)
def test_the_launcher_takes_its_files(name: str) -> None:
    validate_config(prepare_config(launcher_config(name)))


@pytest.mark.parametrize("name", LAUNCHED)
def test_a_misspelt_field_would_be_noticed(name: str) -> None:
    config = launcher_config(name)
    config["setup_comands"] = config.pop("setup_commands")
    with pytest.raises(Exception, match="setup_comands"):
        validate_config(prepare_config(config))


@pytest.mark.parametrize("name", LAUNCHED)
def test_launched_clusters_ask_for_a_token_and_show_no_dashboard(name: str) -> None:
    config = launcher_config(name)
    starts = [*config["head_start_ray_commands"], *config["worker_start_ray_commands"]]
    begun = [line for line in starts if "ray start" in line]
    assert len(begun) == 2
    assert all("RAY_AUTH_MODE=token" in line and "--disable-usage-stats" in line for line in begun)
    assert "--include-dashboard=false" in begun[0]
    assert "~/.ray/auth_token" in config["file_mounts"]
    assert any(f"ray[default]=={ray_version}" in line for line in config["setup_commands"])


def ray_cluster() -> dict[str, Any]:
    claim, cluster = yaml.safe_load_all((DEPLOY / "kuberay.yaml").read_text())
    assert claim["kind"] == "PersistentVolumeClaim"
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    found: dict[str, Any] = cluster
    found["metadata"]["namespace"] = "default"  # which Kubernetes puts in
    return found


def test_ray_on_kubernetes_takes_the_cluster() -> None:
    cluster = ray_cluster()
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    read = read_cluster(copy.deepcopy(cluster))
    kinds = read["available_node_types"]
    assert kinds["headgroup"]["resources"]["CPU"] == 0
    assert (kinds["workers"]["min_workers"], kinds["workers"]["max_workers"]) == (1, 8)
    assert kinds["workers"]["resources"]["CPU"] == 4


def test_all_pods_have_the_same_image_the_token_and_the_storage() -> None:
    spec = ray_cluster()["spec"]
    assert (spec["rayVersion"], spec["authOptions"]) == (ray_version, {"mode": "token"})
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    for group in groups:
        pod = group["template"]["spec"]
        (container,) = pod["containers"]
        assert container["image"].endswith(f":{__version__}")
        assert container["volumeMounts"] == [{"name": "shared", "mountPath": "/shared"}]
        assert pod["volumes"] == [{"name": "shared", "persistentVolumeClaim": {"claimName": "deepbass-shared"}}]
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
    assert f"rayproject/ray:{ray_version}" in (DEPLOY / "Dockerfile").read_text()
