# SPDX-License-Identifier: MIT
"""A network interface of a test's own: a tap device, of which the test is the other end and the driver, so that every
byte, the link and what it can carry are what the test says."""
import ctypes
import fcntl
import os
import socket
import struct
import subprocess

_ATTACH, _CARRIER, _TAP, _BARE = 0x400454CA, 0x400454E2, 0x0002, 0x1000  # TUNSETIFF, TUNSETCARRIER, IFF_TAP, IFF_NO_PI
_ETHTOOL, _SET_LINK = 0x8946, 2  # SIOCETHTOOL, ETHTOOL_SSET
_TYPE = 0x88B5  # of Ethernet frames for experiments: nobody answers them
_HEADER = b"\xff" * 6 + b"\x02\0\0\0\0\x01" + struct.pack(">H", _TYPE)


class Tap:
    """Requires root, and a kernel with tap devices: else OSError. It is gone where it is closed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.ioctl(self.device, _ATTACH, struct.pack("16sH22x", name.encode(), _TAP | _BARE))
            quiet = f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6"
            if os.path.exists(quiet):  # else the kernel looks for neighbours
                with open(quiet, "w") as file:
                    file.write("1")
            self.switch(True)
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            self.socket.bind((name, _TYPE))
        except OSError:
            os.close(self.device)
            raise

    def close(self) -> None:
        if self.device >= 0:
            self.socket.close()
            os.close(self.device)
            self.device = -1

    def switch(self, on: bool) -> None:
        """As its owner does."""
        if subprocess.run(["ip", "link", "set", self.name, "up" if on else "down"], capture_output=True).returncode != 0:
            raise OSError(f"{self.name} cannot be switched")

    def plug(self, on: bool) -> None:
        """As if its cable were drawn."""
        fcntl.ioctl(self.device, _CARRIER, struct.pack("i", int(on)))

    def carries(self, megabits: int, full: bool = True) -> None:
        command = bytearray(44)
        struct.pack_into("=IIIHB", command, 0, _SET_LINK, 0, 0, megabits, int(full))
        buffer = ctypes.create_string_buffer(bytes(command), len(command))
        fcntl.ioctl(self.socket, _ETHTOOL, struct.pack("16sP8x", self.name.encode(), ctypes.addressof(buffer)))

    def download(self, size: int, packets: int = 1) -> None:
        for _ in range(packets):
            os.write(self.device, _HEADER + b"x" * (size - len(_HEADER)))

    def upload(self, size: int, packets: int = 1) -> None:
        for _ in range(packets):
            self.socket.send(_HEADER + b"x" * (size - len(_HEADER)))
            os.read(self.device, 65536)  # then it is counted
