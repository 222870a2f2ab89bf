"""One worker waits for a thousand servers at once, as it does for one."""

import subprocess
import sys

from noetl_mcp.worker.placed import allow_many_files
from tests.broker.desks import work_off
from tests.worker.shop import Shop

MANY = 1_000
SERVER = f"""
import asyncio

async def main():
    everybody = asyncio.Barrier({MANY})

    async def serve(reader, writer):
        await reader.readuntil(b"\\r\\n\\r\\n")
        await everybody.wait()
        writer.write(b"HTTP/1.1 204 No Content\\r\\nConnection: close\\r\\n\\r\\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog={MANY})
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""
"""Answers nobody before everybody has asked."""
PLAYBOOK = """
workflow:
  - step: each
    type: iterator
    collection: "{{ range(MANY) | list }}"
    element: n
    mode: async
    concurrency: MANY
    timeout: 60
    task: {type: http, url: "http://127.0.0.1:PORT/{{ n }}"}
    next: [end]
  - {step: end, result: "{{ each.count }}"}
"""


def test_one_worker_waits_for_a_thousand_calls_at_once(shop: Shop) -> None:
    allow_many_files()
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        port = server.stdout.readline().strip()
        number = shop.start(PLAYBOOK.replace("MANY", str(MANY)).replace("PORT", port))
        work_off(shop, number)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()

    assert shop.done(number).result == MANY
