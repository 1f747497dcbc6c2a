# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium over its debugging protocol."""

import base64
import io
import itertools
import json
import os
import re
import shutil
import subprocess
from urllib.request import urlopen

import pytest

from ..processes import TIMEOUT_S, until

_CHOICES = ('chromium', 'chromium-browser', 'google-chrome')


class Browser:
    """One page of a browser; use as a context manager."""

    def __init__(self, address, profile):
        program = next(filter(None, map(shutil.which, _CHOICES)), None)
        if program is None:
            pytest.skip(f'none of {", ".join(_CHOICES)} is installed')
        # Chromium's sandbox does not work for root.
        sandbox = ['--no-sandbox'] if os.geteuid() == 0 else []
        options = (
            f'--headless=new --remote-debugging-port=0 --user-data-dir={profile} --no-first-run '
            '--use-angle=swiftshader --enable-unsafe-swiftshader --window-size=1000,500'
        )
        command = [program, *sandbox, *options.split(), address]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self._numbers = itertools.count(1)
        self._socket = None

    def __enter__(self):
        from websockets.sync.client import connect

        try:
            port = self._port()
            page = until(lambda: self._pages(port), 'a page')[0]
            self._socket = connect(page['webSocketDebuggerUrl'], max_size=None)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._socket is not None:
            self._socket.close()
        self._process.terminate()
        self._process.wait()
        self._process.stderr.close()

    def text(self):
        """Return the text of the page."""
        expression = '(document.body || {}).innerText || ""'
        return self._call('Runtime.evaluate', expression=expression)['result']['value']

    def wait_for(self, pattern):
        """Wait until the page's text matches a pattern; return the match."""
        return until(lambda: re.search(pattern, self.text()), pattern)

    def picture(self):
        """Return the page as an array, shape (height, width, 3)."""
        data = base64.b64decode(self._call('Page.captureScreenshot')['data'])
        from matplotlib.image import imread

        return imread(io.BytesIO(data), format='png')[..., :3]

    def _call(self, method, **parameters):
        number = next(self._numbers)
        self._socket.send(json.dumps({'id': number, 'method': method, 'params': parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=TIMEOUT_S))
            if answer.get('id') == number:
                return answer['result']

    def _port(self):
        for line in self._process.stderr:
            if found := re.search(r'ws://127\.0\.0\.1:(\d+)/', line):
                return found[1]
        raise AssertionError('Chromium ended at its start')

    @staticmethod
    def _pages(port):
        with urlopen(f'http://127.0.0.1:{port}/json') as answer:
            return [tab for tab in json.load(answer) if tab['type'] == 'page']
