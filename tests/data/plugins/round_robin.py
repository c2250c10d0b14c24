"""Round robin once more, to the byte as the built-in one."""

from haltere.plugins import candidates, is_ready, wait


class RoundRobin:
    """The paths take turns, a packet each."""

    def __init__(self, config):
        self.last = -1

    def pick(self, paths, demand, now):
        ready = [path for path in candidates(paths) if is_ready(path, now)]
        if not ready:
            return wait(candidates(paths))
        chosen = next((path for path in ready if path.id > self.last >= 0), ready[0])
        self.last = chosen.id
        return chosen
