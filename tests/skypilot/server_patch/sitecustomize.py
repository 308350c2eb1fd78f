"""What the lab changes in SkyPilot's own server processes (this directory is on their PYTHONPATH, and on nothing else's).

1. Before each look at a managed job, its controller asks https://8.8.8.8 or https://1.1.1.1 whether there is a network, and
   does nothing for ever where neither answers (sky.backends.backend_utils, 0.14.1). Here it asks the lab's own API server.
2. One controller process instead of as many as memory allows (12 on 24 GB): 125 MB and a second of CPU each.
3. It looks at its jobs every 8 s instead of every 15.
"""

import importlib.abc
import importlib.machinery
import os
import sys

PATCHES = {
    "sky.backends.backend_utils": {"_TEST_IP_LIST": [os.environ.get("SKYLAB_NETWORK_CHECK", "")]},
    "sky.utils.controller_utils": {"MAX_CONTROLLERS": 1},
    "sky.jobs.utils": {"JOB_STATUS_CHECK_GAP_SECONDS": 8},
}


class _Loader(importlib.abc.Loader):
    def __init__(self, real):
        self.real = real

    def create_module(self, spec):
        return self.real.create_module(spec)

    def exec_module(self, module):
        self.real.exec_module(module)
        for name, value in PATCHES[module.__name__].items():
            getattr(module, name)  # an AttributeError here says that SkyPilot has changed
            setattr(module, name, value)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname not in PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _Loader(spec.loader)
        return spec


if "SKYLAB_NETWORK_CHECK" in os.environ:
    sys.meta_path.insert(0, _Finder())
