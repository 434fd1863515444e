"""Waiting until CRDs are served, and until a crashed container has a log."""

from datetime import timedelta

import pytest

from pykb.deployment._rollout import Cause, _log
from pykb.deployment.apply import wait_established
from pykb.deployment.cluster import Cluster
from pykb.diagnostics import EnvironmentProblem
from pykb.tools.kubectl import Kubectl

NO_CONDITIONS = "error: .status.conditions accessor error: <nil> is of the type <nil>, expected []interface{}"


@pytest.fixture
def kubectl(tmp_path):
    """Makes a kubectl that fails, at first or always, and notes its calls."""

    def make(message, *, times):
        program = tmp_path / "kubectl"
        count = f'echo "$2" >>{tmp_path}/calls; test $(wc -l <{tmp_path}/calls) -gt {times} && exit 0'
        program.write_text(f"#!/bin/sh\n{count}\necho '{message}' >&2; exit 1\n", encoding="utf-8")
        program.chmod(0o755)
        return Kubectl(program)

    return make


def test_a_crd_that_the_api_server_has_not_looked_at_is_waited_for(kubectl, tmp_path):
    """On a busy machine its conditions are still null, which ends `kubectl wait`."""
    wait_established(kubectl(NO_CONDITIONS, times=2), ["boats.example.com"])
    assert (tmp_path / "calls").read_text("utf-8").split() == ["--for=condition=Established"] * 3


@pytest.mark.parametrize(
    ("message", "timeout"), [("error: timed out", timedelta(minutes=1)), (NO_CONDITIONS, timedelta(0))]
)
def test_any_other_error_and_the_end_of_time_are_reported(kubectl, tmp_path, message, timeout):
    """With what kubectl wrote."""
    with pytest.raises(EnvironmentProblem, match="kubectl"):
        wait_established(kubectl(message, times=9), ["boats.example.com"], timeout=timeout)
    assert len((tmp_path / "calls").read_text("utf-8").split()) == 1


GONE = "unable to retrieve container logs for containerd://5f0c"
NO_FILE = 'failed to try resolving symlinks in path "/var/log/pods/op_op-1_2b/manager/2.log": lstat: no such file'


@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        ([GONE, GONE, GONE, "Traceback"], "its last lines:\nTraceback"),
        ([GONE, "starting"], "its last lines:\nstarting"),
        ([NO_FILE, NO_FILE, "Traceback"], "its last lines:\nTraceback"),
        ([GONE] * 99, ""),
        (["", ""], ""),
    ],
    ids=["asked again", "of the running container", "its file is gone", "never there", "empty"],
)
def test_a_log_that_is_gone_is_asked_for_again(tmp_path, answers, shown):
    """A kubelet answers with an excuse while it replaces a container. It is not the log."""
    (tmp_path / "answers").write_text("".join(f"{answer}\n" for answer in answers), encoding="utf-8")
    program = tmp_path / "kubectl"
    program.write_text(
        f'#!/bin/sh\necho x >>{tmp_path}/calls\nsed -n "$(wc -l <{tmp_path}/calls)p" {tmp_path}/answers\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    cause = Cause("", pod="op-1", container="manager", has_ended=True)
    assert _log(Cluster(Kubectl(program), interval=0.0), cause, "op-system") == shown
    assert len((tmp_path / "calls").read_text("utf-8").split()) == min(len(answers), 10)
