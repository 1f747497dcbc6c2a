# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A relay in front of the robot that loses UDP packets on purpose."""

from collections import deque
import socket
import struct
import threading
import time

PORT = 1337
_NUMBER = struct.Struct('<Q')  # begins each state, and each command: of the state it answers
_KEPT = 200_000
_CONNECT = struct.Struct('<IIIHH')  # header (command, id, size), version, the client's UDP port


class LossyLink:
    """
    Relays one FCI connection; `lose(n)` drops the next n states on their way to the client.

    Of the latest packets it keeps when they passed on, by perf_counter [s]: `states_at` and
    `commands_at`; and of commands `answers`: the state's number and whether they end the motion.

    The client's UDP port is in its first TCP message; it is replaced by ours.
    """

    def __init__(self, address, robot):
        self.address = address
        self._robot = robot
        self._listener = socket.create_server((address, PORT))
        self._to_client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._to_robot = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._to_robot.bind(('127.0.0.1', 0))
        self._client_udp = self._robot_udp = None
        self._tcp = []
        self._losing = 0
        self.lost = 0
        self.states_at, self.commands_at = deque(maxlen=_KEPT), deque(maxlen=_KEPT)
        self.answers = deque(maxlen=_KEPT)
        for work in (self._accept, self._relay_states, self._relay_commands):
            threading.Thread(target=work, daemon=True).start()

    def lose(self, count):
        self._losing = count

    def close(self):
        for one in (self._listener, self._to_client, self._to_robot, *self._tcp):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # not connected
            one.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            robot = socket.create_connection((self._robot, PORT))
            self._tcp += [client, robot]
            first = client.recv(_CONNECT.size, socket.MSG_WAITALL)
            *head, port = _CONNECT.unpack(first)
            self._client_udp = (client.getpeername()[0], port)
            robot.sendall(_CONNECT.pack(*head, self._to_robot.getsockname()[1]))
            for source, sink in ((client, robot), (robot, client)):
                threading.Thread(
                    target=self._relay_bytes, args=(source, sink), daemon=True
                ).start()

    @staticmethod
    def _relay_bytes(source, sink):
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # closed by either side

    def _relay_states(self):
        while True:
            try:
                data, self._robot_udp = self._to_robot.recvfrom(1 << 16)
                if self._losing:
                    self._losing -= 1
                    self.lost += 1
                elif self._client_udp:
                    self.states_at.append(time.perf_counter())
                    self._to_client.sendto(data, self._client_udp)
            except OSError:
                return  # closed

    def _relay_commands(self):
        self._to_client.bind(('127.0.0.1', 0))
        while True:
            try:
                data, _ = self._to_client.recvfrom(1 << 16)
                if not data:
                    return  # shut down
                self.commands_at.append(time.perf_counter())
                self.answers.append((_NUMBER.unpack_from(data)[0], bool(data[-1])))
                if self._robot_udp:
                    self._to_robot.sendto(data, self._robot_udp)
            except OSError:
                return  # closed
