"""A CONNECT proxy that leads the platforms' real host names to simulated servers over TLS, and nowhere else.

    async with Gate({"api.telegram.org": telegram.port}) as gate:
        env = gate.environment()

So a program that knows nothing of tests, in a process of its own, speaks with the servers of a test. `refused` lists
every other place that it tried to reach.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CHUNK = 65536
CLOSING_SECONDS = 5

_Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Gate:
    """The proxy; `routes` are the ports of simulated servers by host name."""

    def __init__(self, routes: Mapping[str, int]) -> None:
        self.routes = routes
        self.reached: list[str] = []
        self.refused: list[str] = []
        self.port = 0
        self._stack = contextlib.AsyncExitStack()
        self._tls_ports: dict[str, int] = {}
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}
        self._ca = Path()

    async def __aenter__(self) -> Self:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._ca = folder / "ca.pem"
        context = _certified(tuple(self.routes), folder)
        for host, port in self.routes.items():
            self._tls_ports[host] = await self._listen(_forwarding(port), context)
        self.port = await self._listen(self._connect)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        running = [task for task in self._open.values() if task]
        for writer in self._open:
            writer.transport.abort()
        if running:
            await asyncio.wait(running, timeout=CLOSING_SECONDS)

    @property
    def url(self) -> str:
        """The proxy's address."""
        return f"http://127.0.0.1:{self.port}"

    def context(self) -> ssl.SSLContext:
        """For a client in this process, which read SSL_CERT_FILE before the gate was there."""
        context = ssl.create_default_context(cafile=self._ca)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    def environment(self) -> dict[str, str]:
        """What makes a program go through here."""
        return {
            "HTTPS_PROXY": self.url,
            "https_proxy": self.url,
            "SSL_CERT_FILE": str(self._ca),
            "NO_PROXY": "",
            "no_proxy": "",
        }

    async def _listen(self, handler: _Handler, context: ssl.SSLContext | None = None) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._open[writer] = asyncio.current_task()
            try:
                await handler(reader, writer)
            finally:
                del self._open[writer]
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        self._stack.callback(server.close)
        return int(server.sockets[0].getsockname()[1])

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
            host = target.rpartition(":")[0]
            port = self._tls_ports.get(host) if method == "CONNECT" else None
            if port is None:
                self.refused.append(target)
                writer.write(b"HTTP/1.1 502 not in this test\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                return
            self.reached.append(host)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _forwarding(port)(reader, writer)


def _forwarding(port: int) -> _Handler:
    """Carries bytes to and from a port."""

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return
        await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))

    return forward


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ssl.SSLError):
        while data := await source.read(CHUNK):
            sink.write(data)
            await sink.drain()
    sink.close()


def _certified(hosts: tuple[str, ...], folder: Path) -> ssl.SSLContext:
    """A server's side of TLS for these hosts; ca.pem in the folder is what clients have to trust.

    An authority and a certificate of its own for the hosts: from 3.13 on Python accepts nothing less.
    """
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority of a test")])
    ca_id = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    authority = (
        _begun(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(ca_id, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the hosts of a test")])
    certificate = (
        _begun(name, ca_name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ca_id), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *private))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context


def _begun(name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
