"""python3 .ci/ucp.py URL

Reads every product of a demo store by the Universal Commerce Protocol, by REST and by MCP, with the models of the official
SDK (https://pypi.org/project/ucp-sdk). Prints how many answers they have read. An answer that they refuse is an error.
"""

import json
import sys
from urllib.request import Request, urlopen

from ucp_sdk.models.schemas.profile import BusinessSchema
from ucp_sdk.models.schemas.shopping.catalog_lookup import GetProductResponse, LookupResponse
from ucp_sdk.models.schemas.shopping.catalog_search import SearchResponse

URL = sys.argv[1]
PROFILE = f"{URL}/.well-known/ucp"
OPERATIONS = {
    "search": ("search_catalog", SearchResponse),
    "lookup": ("lookup_catalog", LookupResponse),
    "product": ("get_product", GetProductResponse),
}
read = 0


def sent(url, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    with urlopen(Request(url, data, headers)) as response:
        return json.load(response)


def ask(operation, body):
    """Returns the answer by REST, after the SDK has read it and the answer by MCP."""
    global read
    tool, model = OPERATIONS[operation]
    answer = sent(f"{URL}/ucp/catalog/{operation}", body, **{"UCP-Agent": f'profile="{PROFILE}"'})
    arguments = {"meta": {"ucp-agent": {"profile": PROFILE}}, "catalog": body}
    params = {"name": tool, "arguments": arguments}
    call = sent(f"{URL}/ucp/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    for each in (answer, call["result"]["structuredContent"]):
        model.model_validate(each)
        read += 1
    return model.model_validate(answer)


BusinessSchema.model_validate(sent(PROFILE))
request = {"filters": {"price": {"min": 0}}, "pagination": {"limit": 20}}
while True:
    page = ask("search", request)
    ask("lookup", {"ids": [product.id for product in page.products]})
    for product in page.products:
        ask("product", {"id": product.id})
        for option in product.options or []:
            ask("product", {"id": product.id, "selected": [{"name": option.name, "label": option.values[-1].label}]})
    if not page.pagination.has_next_page:
        break
    request["pagination"]["cursor"] = page.pagination.cursor
print(read)
