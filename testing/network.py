"""Several hosts in one: network namespaces joined by a bridge, their links limited if wanted.

    with Network(2, rate="1gbit") as network:
        network.prefix(1)        # a command that runs another in host 1
        network.addresses[1]     # "10.77.0.2"
        network.pull(1)          # the cable

    with Hosts([0, 0, 1, 1]) as hosts, hosts.team() as team:   # ranks on them

Needs root, or a user who may make network namespaces; `obstacle()` says why it cannot be.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from typing import Any

from weft import _core

from launch import Team

_CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"


class Network:
    """N hosts, each with `eth0` in one network and `eth1` in the next one, as many as `rails`.

    `rate` limits each link in both directions. `addresses` are those of `eth0`, with the length of
    the prefix; empty: that host has none. A context manager: tears everything down.
    """

    def __init__(
        self,
        hosts: int,
        rate: str | None = None,
        rails: int = 1,
        addresses: list[str] | None = None,
    ) -> None:
        self._mark = f"weft-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._switch = f"{self._mark}-switch"
        self._hosts = [f"{self._mark}-{host}" for host in range(hosts)]
        self._rate = rate
        self._rails = range(rails)
        self._addresses = addresses or [f"10.77.0.{host + 1}/24" for host in range(hosts)]
        self.addresses = [address.partition("/")[0] for address in self._addresses]

    def __enter__(self) -> Network:
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in [*self._hosts, self._switch]:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)

    def prefix(self, host: int) -> list[str]:
        """The command that runs what follows it in this host."""
        return ["nsenter", f"--net=/var/run/netns/{self._hosts[host]}"]

    def pull(self, host: int) -> None:
        """Takes the host's links down: what is sent is lost, and nobody is told."""
        for rail in self._rails:
            _run("ip", "-n", self._switch, "link", "set", f"port{host}-{rail}", "down")

    def _build(self) -> None:
        _run("ip", "netns", "add", self._switch)
        for host, name in enumerate(self._hosts):
            _run("ip", "netns", "add", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
            # What this machine prefers may pace by what it has learnt of a link (bbr): one run is
            # twice as slow as the next. Every kernel has reno, and lets a namespace choose it.
            _run(*self.prefix(host), "sh", "-c", f"echo reno > {_CONGESTION}")
        for rail in self._rails:
            _run("ip", "-n", self._switch, "link", "add", f"bridge{rail}", "type", "bridge")
            _run("ip", "-n", self._switch, "link", "set", f"bridge{rail}", "up")
            for host in range(len(self._hosts)):
                self._plug(host, rail)

    def _plug(self, host: int, rail: int) -> None:
        name, card, port = self._hosts[host], f"eth{rail}", f"port{host}-{rail}"
        # Made in the host's namespace and moved from there: no name meets one of this machine's.
        _run("ip", "-n", name, "link", "add", card, "type", "veth",
             "peer", "name", port, "netns", self._switch)  # fmt: skip
        if address := f"10.{77 + rail}.0.{host + 1}/24" if rail else self._addresses[host]:
            # Without looking for a second one who has it, which takes a second.
            quick = ["nodad"] if ":" in address else []
            _run("ip", "-n", name, "addr", "add", address, "dev", card, *quick)
        _run("ip", "-n", self._switch, "link", "set", port, "master", f"bridge{rail}", "up")
        _run("ip", "-n", name, "link", "set", card, "up")
        if self._rate:
            for space, device in ((name, card), (self._switch, port)):
                _run("tc", "-n", space, "qdisc", "add", "dev", device, "root", "tbf",
                     "rate", self._rate, "burst", "256kb", "latency", "50ms")  # fmt: skip


class Hosts:
    """Ranks on several hosts: `places[rank]` is a rank's host. A context manager."""

    def __init__(self, places: list[int], **network: Any) -> None:
        self.places = places
        self.network = Network(max(places) + 1, **network)

    def __enter__(self) -> Hosts:
        self.network.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.network.__exit__(*error)

    def team(self, env: dict[str, str] | None = None) -> Team:
        """One process a rank, each on its host."""
        prefixes = [self.network.prefix(host) for host in self.places]
        return Team(len(self.places), env, prefixes)


def obstacle() -> str:
    """Why ranks cannot be on several hosts here; empty if they can."""
    fabrics = {fabric["name"]: fabric for fabric in _core.system_info()["fabrics"]}
    if not fabrics["ofi"]["available"]:
        return f"fabric ofi: {fabrics['ofi']['text']}"
    for tool in ("ip", "nsenter", "tc"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed (Debian, Ubuntu: iproute2, util-linux)"
    try:
        with Network(2, rate="1gbit"):
            return ""
    except RuntimeError as error:
        return str(error)


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().replace("\n", "; ")
        raise RuntimeError(f"no network namespaces here: `{' '.join(command)}` says: {said}")
