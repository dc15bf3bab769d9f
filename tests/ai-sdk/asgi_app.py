"""Serves `examples/python/serve.py`, as the backends of tests/ag-ui-backend are served."""

import runpy
import sys

from serving import serve

serve(runpy.run_path(sys.argv[1])["app"])
