"""Hosts with names of their own, and what starts programs on them: an ssh, a Slurm.

    with Machines() as machines:
        machines.prefix(1)       # a command that runs another on beta
        machines.run(0, ["mpirun", "--mca", "plm_rsh_agent", machines.ssh, ...])

        with Slurm(machines) as slurm:
            machines.run(0, ["srun", ...], slurm.environment)

A machine is a network namespace of testing/network.py, with its host name and /etc/hosts.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from network import Network

NAMES = ("alpha", "beta")

# Like ssh: [-x -q] HOST WORD..., whose words a shell reads anew, without the caller's environment.
SSH = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
case $host in
{cases}
esac
"""

SLURM = """
ClusterName=weft
SlurmctldHost={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
KillOnBadExit=1
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Machines:
    """Machines alpha and beta in one network. A context manager: tears everything down."""

    def __init__(self) -> None:
        self.network = Network(len(NAMES))

    def __enter__(self) -> Machines:
        self.network.__enter__()
        self.folder = Path(tempfile.mkdtemp(prefix="weft-machines-"))
        hosts = "127.0.0.1 localhost\n"
        for name, address in zip(NAMES, self.network.addresses, strict=True):
            hosts += f"{address} {name}\n"
        (self.folder / "hosts").write_text(hosts)
        cases = ""
        for host, name in enumerate(NAMES):
            words = " ".join(f"'{word}'" for word in self.prefix(host))
            cases += f'{name}) exec env -i PATH="$PATH" {words} sh -c "$*";;\n'
        self.ssh = str(self.folder / "ssh")
        Path(self.ssh).write_text(SSH.format(cases=cases))
        Path(self.ssh).chmod(0o700)
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.network.__exit__(*error)

    def prefix(self, host: int) -> list[str]:
        """The command that runs what follows it on this machine."""
        own = f'hostname {NAMES[host]}; mount --bind {self.folder}/hosts /etc/hosts; exec "$@"'
        return [*self.network.prefix(host), "unshare", "--uts", "--mount", "sh", "-c", own, "sh"]

    def start(self, host: int, command: list[str], env: dict[str, str] | None = None, **options):
        """Starts a program on a machine, in a session of its own."""
        return subprocess.Popen(
            [*self.prefix(host), *command],
            env=os.environ | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            **options,
        )

    def run(self, host: int, command: list[str], env: dict[str, str] | None = None) -> str:
        """What a program prints that runs on a machine. Fails if the program does."""
        return finish(self.start(host, command, env))


def finish(process: subprocess.Popen, timeout: float = 60) -> str:
    """What it printed. Fails if the program does; ends it and its children after `timeout` s."""
    try:
        text = process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError(f"not done in {timeout} s: {process.communicate()[0]}") from None
    assert process.returncode == 0, text
    return text


class Slurm:
    """A Slurm whose nodes are the machines. A context manager; needs root, munged and Slurm."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._folder = machines.folder / "slurm"
        self.environment = {"SLURM_CONF": str(self._folder / "slurm.conf")}
        self._daemons: list[subprocess.Popen] = []

    @staticmethod
    def obstacle() -> str:
        """Why there can be none here; empty if there can."""
        missing = [name for name in ("munged", "slurmctld", "slurmd") if not shutil.which(name)]
        return f"{missing[0]} is not installed (Debian, Ubuntu: slurm-wlm)" if missing else ""

    def __enter__(self) -> Slurm:
        self._folder.mkdir()
        (self._folder / "slurm.conf").write_text(self._configuration())
        try:
            self._begin(0, *self._munge())
            self._begin(0, "slurmctld", "-D", "-i")
            for host in range(len(NAMES)):
                self._begin(host, "slurmd", "-D")
            self._await_nodes()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in self._daemons:
            try:
                daemon.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGKILL)
                daemon.communicate()

    def _configuration(self) -> str:
        nodes = ""
        for name, address in zip(NAMES, self._machines.network.addresses, strict=True):
            (self._folder / name).mkdir()
            nodes += f"NodeName={name} NodeAddr={address} CPUs={os.cpu_count()}\n"
        controller = f"{NAMES[0]}({self._machines.network.addresses[0]})"
        return SLURM.format(controller=controller, folder=self._folder, nodes=nodes)

    def _munge(self) -> list[str]:
        key = self._folder / "munge.key"
        key.write_bytes(os.urandom(64))
        key.chmod(0o400)
        command = ["munged", "--foreground", "--force", f"--key-file={key}"]
        for option, name in (("socket", "socket"), ("pid-file", "pid"), ("seed-file", "seed")):
            command.append(f"--{option}={self._folder}/munge.{name}")
        return command

    def _begin(self, host: int, *command: str) -> None:
        self._daemons.append(self._machines.start(host, list(command), self.environment))

    def _await_nodes(self) -> None:
        deadline = time.monotonic() + 20
        while True:
            ask = self._machines.start(0, ["sinfo", "-h", "-t", "idle", "-o", "%D"],
                                       self.environment)  # fmt: skip
            said = ask.communicate()[0].strip()
            if said == str(len(NAMES)):
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"Slurm's nodes did not come: {said}")
            time.sleep(0.1)
