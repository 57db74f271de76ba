#!/usr/bin/env python3
"""The program that runs workers as tasks of a real Ray, with programs that end as a worker can.

    ray_program.py ENGINE FAKE_GCS ENVIRONMENT

The jobs run at the same time on two hosts, of which one loses its power.
"""

import sys
from pathlib import Path

from hosts import Host, machines

import replan_support as support  # noqa: E402
from engine import Cases, check  # noqa: E402
from ray_cluster import Ray  # noqa: E402


class RayCases(Cases):
    def __init__(self, program, place, ray):
        super().__init__(program, "ray", ray.head, place.root, {"python": ray.python, "address": ray.address})
        self.ray = ray

    def run(self):
        refused = self.refused("--python", "/usr/bin/python3")
        check(refused == "/usr/bin/python3: has no Ray; name a Python that has it, in the version of the cluster's hosts\n"
              "code 1", refused)

        lost, endless = self.start("lost", workers=3), self.start("endless", workers=2)
        lost.wait("they run", lambda: len(self.starts("lost")) == 3, 60)
        endless.wait("they run", lambda: len(self.starts("endless")) == 2, 60)
        endless.cancel()
        endless.wait("the cancelled ones end", endless.is_over, 60)
        check(self.stops("endless") == 2, "a cancelled worker got no SIGTERM")
        self.say("cancelled workers get SIGTERM and stay ended")

        once, killed = self.start("once"), self.start("killed")
        self.ends("once", once, 0, "worker 0: ended with 75 (try again) on host-", "started again, 1 of 100", starts=2)
        self.ends("killed", killed, 0, "worker 0: ended by signal 9 on host-", "started again, 2 of 100", starts=3)
        never, wrong = self.start("never", starts=1), self.start("wrong", workers=1)
        self.ends("never", never, 75, "was started again 1 times: it is given up", starts=2)
        self.ends("wrong", wrong, 65, "worker 0: ended with 65 on host-", "first line\nthe last line\n", starts=1)
        check("\x1b" not in wrong.messages(), f"colours of a terminal are in a file: {wrong.messages()!r}")
        missing = self.start("missing", ["/no/such/pipe"])
        self.ends("missing", missing, 78, "No such file or directory: '/no/such/pipe'", starts=0)
        self.say("75 and a signal start a worker again, at most as often as asked; 65 ends it and shows its last lines")

        hosts = [host for host, *_ in self.starts("lost")]
        check(set(hosts) == {"host-1", "host-2"}, f"workers are not spread: {hosts}")
        gone = hosts.count("host-2")
        self.ray.hosts[1].kill()
        self.say(f"host-2 loses its power with {gone} workers")
        lost.wait("they run on another host", lambda: len(self.starts("lost")) == 3 + gone, 90)
        check([host for host, *_ in self.starts("lost")][3:] == ["host-1"] * gone, f"{self.starts('lost')}")
        said = lost.messages().count("lost (NodeDiedError), started again") + lost.messages().count(
            "lost (WorkerCrashedError), started again")
        check(said == gone, f"the engine's log says {said} losses:\n{lost.messages()}")
        self.say("the engine's log says that it lost them; they run again on the other host")

        # The process of a task dies alone: its worker must not go on beside the next one.
        before = self.starts("lost")
        tasks = self.ray.hosts[0].run("sh", "-c", "ps -eo pid,args | grep 'ray::[w]ork' | awk '{print $1}'").split()
        check(len(tasks) == 3, f"processes of tasks: {tasks}")
        self.ray.hosts[0].run("kill", "-KILL", tasks[0])
        lost.wait("it is started again", lambda: len(self.starts("lost")) == len(before) + 1, 30)
        # A shell that has just forked is there twice for a moment.
        living = f"ps -eo args | grep -c '[/]bin/sh {self.worker} lost' || :"
        lost.wait("three workers live", lambda: self.ray.hosts[0].run("sh", "-c", living) == "3", 30)
        self.go()
        self.ends("lost", lost, 0, starts=len(before) + 1)
        self.say("a worker ends with the process of its task")


def main():
    program, fake, environment = (Path(word).absolute() for word in sys.argv[1:4])
    machines.isolate()
    with support.Sandbox() as place, machines.Network(fake, place.root) as network:
        RayCases(program, place, Ray(environment, place.root / "ray", network.add(3, Host), cores=4)).run()


if __name__ == "__main__":
    main()
