# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""`runweir mcp` as a client of somebody else's sees it: the protocol's own library for Python. RUNWEIR names the program."""

import os
import shutil

import pytest

mcp = pytest.importorskip("mcp")
PROGRAM = os.environ.get("RUNWEIR") or shutil.which("runweir")


@pytest.mark.skipif(not PROGRAM, reason="no program: RUNWEIR=target/debug/runweir")
def test_a_client_lists_and_calls_the_tools():
    import asyncio

    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def talk():
        server = StdioServerParameters(command=PROGRAM, args=["mcp"])
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            hello = await session.initialize()
            tools = await session.list_tools()
            check = await session.call_tool("check", {"topology": "annotate affinity; entry -> fifo -> cpus;", "machine": "smp-4"})
            wrong = await session.call_tool("run", {"topology": "entry -> fifoo -> cpus;", "machine": "smp-4", "workload": "hackbench"})
            return hello, tools, check, wrong

    hello, tools, check, wrong = asyncio.run(asyncio.wait_for(talk(), 60))
    page = hello.model_dump(by_alias=True)
    assert page["serverInfo"]["name"] == "runweir"
    assert [t.name for t in tools.tools] == ["run", "compare", "check", "analyze", "explain", "graph", "catalogue"]
    for tool in tools.model_dump(by_alias=True)["tools"]:
        assert tool["annotations"]["readOnlyHint"] is True and tool["inputSchema"]["type"] == "object"
    assert not check.model_dump(by_alias=True)["isError"] and "4 CPUs" in check.content[0].text
    assert wrong.model_dump(by_alias=True)["isError"] and "did you mean `fifo`?" in wrong.content[0].text
