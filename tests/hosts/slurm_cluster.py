"""A real Slurm on the hosts of hosts.py, for tests: the first host has the controller, the others compute."""

import os
import re
import shutil
import time

# Until the controller calls a silent host down, and from a requeue to the next start: Slurm's own 300 and 120 s are too
# long for a test.
SILENT, CREDENTIAL = 10, 5
CONFIGURATION = """\
ClusterName=bench
SlurmctldHost={controller}({address})
SlurmUser=root
AuthInfo=socket={root}/munge.socket,cred_expire={credential}
StateSaveLocation={root}/state
SlurmctldPidFile={root}/slurmctld.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdSpoolDir={root}/spool-%n
SlurmdPidFile={root}/slurmd-%n.pid
SlurmdLogFile={root}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory,CR_LLN
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout={silent}
MessageTimeout=5
KillWait=15
MinJobAge=300
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
MaxArraySize={array}
MaxJobCount=1000
MailProg=/bin/true
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """The cluster. `cores` and `memory` (MiB) are those of each computing host; `array` is Slurm's MaxArraySize."""

    def __init__(self, root, hosts, cores=1, memory=2000, array=101):
        for program in ("munged", "slurmctld", "slurmd", "sbatch"):
            if shutil.which(program) is None:
                raise SystemExit(f"{program} is missing: apt-get install --no-install-recommends slurmctld slurmd "
                                 "slurm-client munge")
        self.root, (self.controller, *self.hosts) = root, hosts
        root.mkdir(mode=0o755)
        self.variables = {"SLURM_CONF": str(root / "slurm.conf")}
        (root / "slurm.conf").write_text(CONFIGURATION.format(
            root=root, controller=self.controller.name, address=self.controller.address, silent=SILENT,
            credential=CREDENTIAL, array=array,
            nodes="\n".join(f"NodeName={host.name} NodeAddr={host.address} CPUs={cores} RealMemory={memory} "
                            "State=UNKNOWN" for host in self.hosts)))
        (root / "munge.key").write_bytes(os.urandom(1024))
        (root / "munge.key").chmod(0o600)
        self.boot(self.controller)
        for host in self.hosts:
            self.boot(host)
        self.wait("the hosts are idle", lambda: len(self.tell("sinfo", "-hN", "-t", "idle").splitlines()) ==
                  len(self.hosts), 60)

    def boot(self, host):
        """Starts the programs of a host that has just been made, or that was killed."""
        if host is self.controller:
            # One for all hosts: a socket in a directory works from every network namespace. It lives as long as the
            # controller's host.
            (self.root / "munge.socket").unlink(missing_ok=True)
            host.run("munged", "--force", f"--key-file={self.root}/munge.key", f"--socket={self.root}/munge.socket",
                     f"--pid-file={self.root}/munged.pid", f"--log-file={self.root}/munged.log",
                     f"--seed-file={self.root}/munge.seed")
            self.start_controller()
        else:
            host.run("slurmd", **self.variables)

    def start_controller(self):
        self.controller.run("slurmctld", **self.variables)

    def kill_controller(self):
        """The controlling program dies; jobs go on."""
        self.controller.run("pkill", "-KILL", "-x", "slurmctld")

    def break_starts(self, host):
        """From now on no task starts on the host: its daemon finds no directory for them."""
        spool = self.root / f"spool-{host.name}"
        spool.rename(f"{spool}.away")
        spool.touch()

    def mend_starts(self, host):
        spool = self.root / f"spool-{host.name}"
        spool.unlink()
        (self.root / f"{spool.name}.away").rename(spool)

    def tell(self, *words, check=False):
        """What a program of Slurm prints on the controller's host; "" if it fails and `check` is False."""
        return self.controller.run(*words, check=check, **self.variables)

    def log(self):
        return (self.root / "slurmctld.log").read_text(errors="replace")

    def lost(self, host):
        """Array tasks that the controller put back into the queue because it lost this host."""
        return set(re.findall(rf"requeue job JobId=(\d+_\d+)\S* due to failure of node {host.name}\b", self.log()))

    def wait(self, what, condition, seconds):
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise SystemExit(f"not within {seconds} s: {what}\n{self.tell('squeue', '-a')}\n"
                                 f"{self.tell('sinfo', '-Nl')}\n{self.log()[-4000:]}")
            time.sleep(0.1)
        return found
