#!/usr/bin/env python3
"""The batch script of workers under a real Slurm, with programs that end as a worker can.

    slurm_script.py ENGINE FAKE_GCS

All jobs run at the same time on two hosts, of which one loses its power.
"""

import sys
from pathlib import Path

from hosts import Host, machines

import replan_support as support  # noqa: E402
from engine import Cases, Workers, check  # noqa: E402
from slurm_cluster import Slurm  # noqa: E402


class SlurmCases(Cases):
    def __init__(self, program, place, slurm):
        super().__init__(program, "slurm", slurm.controller, place.root, **slurm.variables)
        self.slurm = slurm

    def run(self):
        self.held()
        jobs = {"once": self.start("once", workers=3), "never": self.start("never", starts=1),
                "wrong": self.start("wrong"), "killed": self.start("killed"), "stops": self.start("stops"),
                "endless": self.start("endless", workers=2), "lost": self.start("lost", workers=4)}
        many = self.start("once", workers=9, word=["--hold", "--begin=now+1hour"])
        check(len(many.job.split(",")) == 2, f"9 workers with arrays of 8 are the jobs {many.job}")
        check(many.state().startswith("going on: 0 running, 9 waiting"), many.state())
        many.cancel()
        many.wait("held workers are cancelled", many.is_over, 20)
        refused = self.refused("--word", "--partition=none")
        check(refused == "sbatch: invalid partition specified: none; Batch job submission failed: Invalid partition name "
              "specified\ncode 1", f"a wrong partition: {refused}")

        jobs["stops"].wait("the worker runs", lambda: self.starts("stops", 0), 20)
        self.slurm.tell("scancel", "--batch", "--signal=TERM", f"{jobs['stops'].job}_0", check=True)
        jobs["endless"].wait("both run", lambda: self.starts("endless", 0) and self.starts("endless", 1), 30)
        jobs["endless"].cancel()
        jobs["endless"].wait("the cancelled ones end", jobs["endless"].is_over, 30)
        check("2 CANCELLED" in jobs["endless"].state(), jobs["endless"].state())
        for number in (0, 1):
            jobs["endless"].wait("a cancelled worker tells of SIGTERM", lambda n=number: self.stops("endless", n) == 1, 20)
        self.say("cancelled workers get SIGTERM, end with 75 and stay ended")

        for case in ("once", "never", "wrong", "killed", "stops"):
            jobs[case].wait(f"{case} ends", jobs[case].is_over, 60)
        self.ends(jobs)
        jobs["lost"].wait("all run", lambda: all(self.starts("lost", number) for number in range(4)), 60)
        lost = [number for number in range(4) if self.starts("lost", number)[0][0] == "host-2"]
        check(lost, "no worker runs on host-2")
        self.slurm.hosts[1].kill()
        self.say(f"host-2 loses its power with workers {lost}")
        jobs["lost"].wait("they run on another host", lambda: all(len(self.starts("lost", number)) == 2
                                                                  for number in lost), 60)
        self.go()
        jobs["lost"].wait("they end", jobs["lost"].is_over, 60)
        for number in range(4):
            again = number in lost
            check([start[1] for start in self.starts("lost", number)] == (["0", "1"] if again else ["0"]),
                  f"worker {number}: {self.starts('lost', number)}")
            check(self.starts("lost", number)[-1][0] == "host-1" or not again, "it ran again on the lost host")
        requeued = self.slurm.lost(self.slurm.hosts[1])
        check(requeued == {f"{jobs['lost'].job}_{number}" for number in lost}, f"the controller's log has {requeued}")
        self.say(f"the controller's log says that it requeued {sorted(requeued)}, which run again on another host")

    def held(self):
        for host in self.slurm.hosts:
            self.slurm.break_starts(host)
        job = self.start("wrong", workers=2)
        job.wait("both are held", lambda: "2 waiting (launch failed requeued held)" in job.state(), 30)
        for host in self.slurm.hosts:
            self.slurm.mend_starts(host)
        check(job.release() == 2, "other workers than two were released")
        job.wait("they run after all", job.is_over, 30)
        check("2 FAILED" in job.state(), job.state())
        for number in (0, 1):
            (self.notes / f"wrong-{number}").unlink()
        self.say("workers whose start failed are held, and run once they are released")

    def ends(self, jobs):
        check([len(self.starts("once", number)) for number in range(3)] == [1, 1, 2],
              "75 of one worker started others again")
        check(jobs["once"].state() == "over: 0 running, 3 COMPLETED", jobs["once"].state())
        check([start[1] for start in self.starts("never", 0)] == ["0", "1"], f"bound of 1: {self.starts('never', 0)}")
        check(jobs["never"].state() == "over: 0 running, 1 FAILED", jobs["never"].state())
        check(len(self.starts("wrong", 0)) == 1 and "1 FAILED" in jobs["wrong"].state(), "65 was started again")
        check([start[1] for start in self.starts("killed", 0)] == ["0", "0", "0"], f"{self.starts('killed', 0)}")
        check("1 COMPLETED" in jobs["killed"].state(), jobs["killed"].state())
        check(self.stops("stops") == 1 and [start[1] for start in self.starts("stops", 0)] == ["0", "1"],
              f"after SIGTERM to the script: {self.starts('stops', 0)}")
        self.say("75 requeues one worker, at most as often as asked; 65 ends it; a killed one starts again in its task")
        unknown = Workers(self.program, "slurm", self.slurm.controller, self.root, **self.slurm.variables)
        unknown.job = "99999"
        check(unknown.is_over(), "a job that Slurm does not know is not over")


def main():
    program, fake = (Path(word).absolute() for word in sys.argv[1:3])
    machines.isolate(as_root=True)
    with support.Sandbox() as place, machines.Network(fake, place.root) as network:
        slurm = Slurm(place.root / "slurm", network.add(3, Host), cores=8, array=8)
        SlurmCases(program, place, slurm).run()


if __name__ == "__main__":
    main()
