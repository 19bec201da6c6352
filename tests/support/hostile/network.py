"""Whom a program must not reach, and by what."""

from __future__ import annotations

from hostile import HOST, NAMESPACES, ROOT, SYSCALL, UNREACHABLE, Program

_AWAY = "it would send something to another machine"
_FAMILY = (*SYSCALL, "EACCES", "EAFNOSUPPORT")

PROGRAMS = (
    # --- servers of the host
    Program(
        "connects to a server of the host",
        """
import socket
attempt(socket.create_connection, ('127.0.0.1', int(E['PORT'])), 5)
""",
        UNREACHABLE,
    ),
    Program(
        "connects to a server of the host by IPv6",
        """
import socket
attempt(socket.create_connection, ('::1', int(E['PORT6'])), 5)
""",
        UNREACHABLE,
        missing=("EADDRNOTAVAIL", "EAFNOSUPPORT"),
    ),
    Program(
        "connects to a server of the host by an IPv4 address within IPv6",
        """
import socket
attempt(socket.socket(socket.AF_INET6).connect, ('::ffff:127.0.0.1', int(E['PORT'])))
""",
        UNREACHABLE,
        missing=("EADDRNOTAVAIL", "EAFNOSUPPORT"),
    ),
    Program(
        "connects to an address of the host that is not loopback",
        """
import socket
attempt(socket.create_connection, (E['HOST_ADDRESS'], int(E['PORT'])), 5)
""",
        UNREACHABLE,
    ),
    Program(
        "talks to a server of the host by datagrams",
        """
import socket
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asking.settimeout(0.2)
asking.connect(("127.0.0.1", int(E["UDP_PORT"])))
asking.send(b"?")
leak(asking.recv(9))
""",
        (*UNREACHABLE, "ETIMEDOUT", "None"),
    ),
    Program(
        "connects to an abstract socket of the host",
        """
import socket
attempt(socket.socket(socket.AF_UNIX).connect, chr(0) + E['ABSTRACT'])
""",
        ("ECONNREFUSED",),
    ),
    Program(
        "sends a datagram to an abstract socket of the host",
        """
import socket
attempt(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).connect, chr(0) + E['ABSTRACT_DATAGRAMS'])
""",
        ("ECONNREFUSED",),
    ),
    Program(
        "finds the ports of the host taken",
        """
import errno, socket
try:
    socket.socket().bind(("127.0.0.1", int(E["PORT"])))
except OSError as error:
    leak(error.errno == errno.EADDRINUSE)
""",
    ),
    Program("reads who listens on the host", "leak(b'%04X' % int(E['PORT']) in read('/proc/net/tcp'))"),
    Program("reads the abstract sockets of the host", "leak(E['ABSTRACT'].encode() in read('/proc/net/unix'))"),
    Program(
        "sees an interface that leads out",
        """
import struct
lines = read("/proc/net/dev").decode().splitlines()[2:]
names = {line.partition(":")[0].strip() for line in lines}
leak([name for name in names if not name.startswith(("lo", "sit", "tunl", "ip6", "gre", "erspan"))], names)
""",
    ),
    Program("finds a way out of the machine", "leak(len(read('/proc/net/route').splitlines()) > 1)"),
    # --- other machines
    Program(
        "connects to another machine",
        """
import socket
attempt(socket.create_connection, ('192.0.2.1', 80), 5)
""",
        UNREACHABLE,
        _AWAY,
    ),
    Program(
        "connects to another machine by IPv6",
        """
import socket
attempt(socket.create_connection, ('2001:db8::1', 80), 5)
""",
        UNREACHABLE,
        _AWAY,
    ),
    Program(
        "sends a datagram to another machine",
        """
import socket
attempt(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b'x', ('192.0.2.1', 9))
""",
        UNREACHABLE,
        _AWAY,
    ),
    Program(
        "calls out to everybody",
        """
import socket
calling = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
calling.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for address in ("255.255.255.255", "224.0.0.1"):
    attempt(calling.sendto, b"x", (address, 9))
""",
        UNREACHABLE,
        _AWAY,
    ),
    Program(
        "asks for the address of a name",
        """
import socket
try:
    leak(socket.getaddrinfo("example.com", 80))
except socket.gaierror:
    say("REFUSED ENETUNREACH")
""",
        UNREACHABLE,
        _AWAY,
    ),
    # --- unusual ways
    Program(
        "opens a raw socket",
        """
import socket
for n in (1, 6, 255): attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW, n)
""",
        SYSCALL,
        NAMESPACES,
    ),
    Program(
        "opens a raw IPv6 socket",
        """
import socket
for n in (58, 255): attempt(socket.socket, socket.AF_INET6, socket.SOCK_RAW, n)
""",
        SYSCALL,
        NAMESPACES,
        missing=("EAFNOSUPPORT",),
    ),
    Program(
        "opens a packet socket",
        """
import socket
for n in (2, 3, 10): attempt(socket.socket, 17, n, 0)
""",
        _FAMILY,
        NAMESPACES,
        missing=("EAFNOSUPPORT",),
    ),
    Program(
        "talks to the kernel by netlink, of other things than interfaces",
        """
import socket
for n in (4, 5, 6, 9, 12, 15, 16, 21): attempt(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, n)
""",
        _FAMILY,
    ),
    Program(
        "talks to the machine below by a VM socket",
        """
import socket
for n in (1, 2): attempt(socket.socket, 40, n, 0)
""",
        _FAMILY,
        missing=("EAFNOSUPPORT",),
    ),
    Program(
        "uses the kernel's cryptography",
        """
import socket
attempt(socket.socket, 38, socket.SOCK_SEQPACKET, 0)
""",
        _FAMILY,
        missing=("EAFNOSUPPORT",),
    ),
    Program(
        "opens a Bluetooth socket",
        """
import socket
for n in range(4): attempt(socket.socket, 31, socket.SOCK_RAW, n)
""",
        _FAMILY,
        missing=("EAFNOSUPPORT",),
    ),
    Program(
        "opens a socket of any other family",
        """
import socket
for family in (*range(3, 10), *range(11, 16), *range(17, 60)):
    for kind in (1, 2, 3, 5):
        attempt(socket.socket, family, kind, 0)
""",
        _FAMILY,
    ),
    Program(
        "makes a pair of sockets of an unusual family",
        """
import socket
attempt(socket.socketpair, 30, 5, 0)
attempt(socket.socketpair, 40, 1, 0)
""",
        (*_FAMILY, "ENOTSUP"),
        control="no usual kernel has such a pair",
    ),
    Program(
        "sets up the network itself",
        """
import fcntl, socket, struct
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
attempt(fcntl.ioctl, asking, 0x8914, struct.pack('16sH14x', b'lo', 1))
""",
        ("EPERM",),
        NAMESPACES,
    ),
    Program(
        "sets up the network by netlink",
        """
import socket, struct
asking = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
asking.send(struct.pack("IHHII", 32, 16, 5, 1, 0) + struct.pack("BxHiII", 0, 0, 1, 1, 1))
answer = struct.unpack_from("i", asking.recv(4096), 16)[0]
if answer:
    raise OSError(-answer, "netlink")
say("LEAK")
""",
        (*_FAMILY,),
        NAMESPACES,
    ),
    Program(
        "marks its packets to go another way",
        """
import socket
attempt(socket.socket().setsockopt, socket.SOL_SOCKET, 36, 7)
""",
        ("EPERM",),
        NAMESPACES,
    ),
    Program(
        "reads the rules of the firewall",
        """
import socket
attempt(socket.socket().getsockopt, 0, 64, 84)
""",
        ("EPERM", "ENOPROTOOPT"),
        NAMESPACES,
        missing=("ENOPROTOOPT", "EINVAL", "ENOENT"),
    ),
    Program(
        "opens a tunnel",
        "attempt(open, '/dev/net/tun', 'r+b', 0)",
        ("ENOENT", "EACCES", "EPERM"),
        ROOT,
        missing=("ENOENT",),
    ),
    Program(
        "makes a queue of calls that the kernel carries out",
        """
import ctypes
attempt(call, 'io_uring_setup', 4, ctypes.create_string_buffer(120))
""",
        SYSCALL,
        missing=("ENOSYS",),
    ),
    Program("feeds such a queue", "reach('io_uring_enter', -1, 1, 0, 0, None, 0)", SYSCALL, missing=("ENOSYS",)),
    Program("equips such a queue", "reach('io_uring_register', -1, 0, None, 0)", SYSCALL, missing=("ENOSYS",)),
    Program(
        "joins the network of another process",
        """
for place in ('/proc/1/ns/net', '/proc/self/ns/net'):
    attempt(call, 'setns', os.open(place, os.O_RDONLY), 0x40000000)
""",
        (*SYSCALL, "EACCES"),
        NAMESPACES,
    ),
    Program(
        "joins the network of the host",
        "attempt(os.open, f\"/proc/{E['HOST_PID']}/ns/net\", os.O_RDONLY)",
        ("ENOENT",),
        HOST,
    ),
)
