"""
Gives the requests that Schemathesis generates what the schema of a field cannot express, so that they reach further than
the checks of the fields. Requests that are meant to be invalid stay as they are.
"""

import os
import re

import schemathesis
from hypothesis import strategies

STORE = os.environ["CATALOG_STORE"]
LISTING = os.environ["CATALOG_LISTING"]
MEDIA = os.environ["CATALOG_MEDIA"]
PICTURE = os.environ["CATALOG_PICTURE"]
UPLOAD = bytes.fromhex(os.environ["CATALOG_UPLOAD"])

# The service detects an image by its bytes.
schemathesis.openapi.format("binary", strategies.just(UPLOAD))
schemathesis.openapi.media_type("image/*", strategies.just(UPLOAD))


@schemathesis.hook
def before_load_schema(context, raw_schema):
    # The example in the document is a text, because JSON has no bytes.
    upload = raw_schema["components"]["schemas"]["Upload"]
    del upload["examples"], upload["properties"]["file"]["examples"]


@schemathesis.hook
def before_call(context, case, kwargs):
    # A read waits two seconds for a position that the log has not reached, and is then 503.
    if re.fullmatch("[0-9]+", case.headers.get("X-Catalog-Min-Position", "")):
        case.headers["X-Catalog-Min-Position"] = "1"
    # Other requests refer to these.
    if case.method == "DELETE" and case.path_parameters.get("id") in (LISTING, MEDIA):
        case.path_parameters["id"] = STORE
    if is_valid(case):
        if case.path.startswith("/media/"):
            case.path_parameters.update(environment="live", file=PICTURE)
        # Sequences of requests do not use the strategy above.
        if (case.media_type or "").startswith("image/"):
            case.body = UPLOAD
        for fields in (case.query, case.body):
            if isinstance(fields, dict):
                order_bounds(fields)
                bound_depth(fields)
                # A cursor is of the list and order of the page before.
                if case.path != "/api/changes":
                    fields.pop("cursor", None)
                # A list of the past takes no filters.
                if case.path.startswith("/api/listing/") and case.path.endswith("/publications"):
                    fields.pop("as_of", None)
                # They are of the Shopify format only.
                if case.path == "/api/export" and fields.get("format") != "shopify":
                    fields.pop("bom", None)
                    fields.pop("escape_formulas", None)
                # A field of a form that is the text of an object.
                if case.path == "/api/imports":
                    fields.pop("columns", None)
                # A public key has fewer permissions and needs no confirmation, and a key expires in the future.
                if case.path == "/api/key":
                    fields.pop("permissions", None)
                    fields.pop("expires_at", None)
                    fields.pop("needs_confirmation", None)
                # Few parameters may stand beside ids.
                if case.path == "/api/publications":
                    fields.pop("ids", None)
                refer_to_existing(fields)
                allow_backorders(fields)
                name_locales(fields)
                if case.path == "/api/media":
                    detach(fields)
                if "/api/webhook" in case.path and "url" in fields:
                    fields["url"] = "https://erp.example/catalog"
                if str(fields.get("in_use")).lower() == "false":
                    fields["visibility"] = "all"
        if isinstance(case.query, dict):
            if "currency" not in case.query:
                case.query.pop("priced", None)
            # A feed has the currencies of the store only.
            if "/feeds/" in case.path:
                case.query.pop("currency", None)
            if "price_list" in case.query:
                case.query["price_list"] = "wholesale"
        if isinstance(case.body, dict):
            leave_out_other_markets(case.body)
        if case.path == "/api/publications/batch":
            complete_items(case)
        if "/by-external-id/" in case.path and isinstance(case.body, dict):
            complete_new(case.path, case.body)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    # The document describes this answer once, for all requests.
    if response is not None and response.status_code == 431:
        return False
    # What other variants of the publication allow depends on the requests before.
    if type(failure).__name__ == "RejectedPositiveData" and re.search("variant|option_values|option of the publication", response.text):
        return False
    # The store has no price lists.
    if type(failure).__name__ == "RejectedPositiveData" and re.search("Invalid price_list|expected each publication once", response.text):
        return False
    # Which amounts a currency has depends on the publication that the request changes.
    if type(failure).__name__ == "RejectedPositiveData" and "has no minor unit" in response.text:
        return False
    # A text of formatting characters alone is empty. A pattern for all languages cannot name them.
    if type(failure).__name__ == "RejectedPositiveData" and "expected at least 1 character" in response.text:
        return False
    # A handle has no capital letters. A pattern for all languages names only those of ASCII.
    if type(failure).__name__ == "RejectedPositiveData" and "Invalid handle: expected letters in lower case" in response.text:
        return False
    # No object has this name: a schema that allows all names cannot exclude it.
    if type(failure).__name__ == "RejectedPositiveData" and "__proto__ is not a known field" in response.text:
        return False
    # An empty text is an empty list, not a list with one empty name.
    message = str(getattr(failure, "message", failure))
    no_name = re.search(r"violates `enum` at /properties/(\w+)/items", message)
    if type(failure).__name__ == "AcceptedNegativeData" and no_name:
        value = (case.query or {}).get(no_name.group(1))
        if (value if isinstance(value, str) else ",".join(map(str, value or []))).strip() == "":
            return False
    # A text is as long as it is without the spaces around it.
    too_long = re.search(r"violates `maxLength` at /properties/(\w+)", message)
    if type(failure).__name__ == "AcceptedNegativeData" and too_long and isinstance(case.body, dict):
        value = case.body.get(too_long.group(1))
        if isinstance(value, str) and value != value.strip():
            return False
    # Imports are no documents: they wait for no position.
    if type(failure).__name__ == "AcceptedNegativeData" and case.path.startswith("/api/import") and "X-Catalog-Min-Position" in message:
        return False
    # Unknown parameters are ignored.
    if type(failure).__name__ == "AcceptedNegativeData" and "x-schemathesis-unknown-property" in (case.query or {}):
        return False
    # For some forms, Schemathesis finds nothing to change and sends a valid one, but counts it as invalid.
    if type(failure).__name__ != "AcceptedNegativeData" or case.path not in ("/api/media", "/api/imports"):
        return True
    return getattr(case.meta.phase.data, "description", None) != "Positive test case"


def is_valid(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


def order_bounds(fields):
    """`min_price` may not be above `max_price`."""
    if "min_price" in fields and "max_price" in fields:
        bounds = sorted((fields["min_price"], fields["max_price"]), key=int)
        fields["min_price"], fields["max_price"] = bounds


def bound_depth(fields):
    """With a price filter and an order other than by price, `page` x `limit` is at most 1,000."""
    if "min_price" in fields or "max_price" in fields:
        fields["page"] = "1"


def name_locales(fields):
    """A pattern cannot name the language tags that exist. The store has one language, and no markets."""
    for name in ("untranslated", "market", "country"):
        fields.pop(name, None)
    if "locale" in fields:
        fields["locale"] = "de"


def leave_out_other_markets(value):
    """Which translations and prices are valid depends on the locales and currencies of the store."""
    if isinstance(value, list):
        for each in value:
            leave_out_other_markets(each)
    if isinstance(value, dict):
        for name in ("locales", "translations", "currencies", "prices", "markets", "price_lists"):
            value.pop(name, None)
        for each in value.values():
            leave_out_other_markets(each)


def refer_to_existing(fields):
    """Replaces ids, because a reference to a resource that does not exist is 400 or 403."""
    existing = {"store_id": STORE, "listing_id": LISTING, "listing_ids": [LISTING], "media_ids": [MEDIA]}
    for name, value in existing.items():
        if fields.get(name):
            fields[name] = value
    # Positions are those in the `listing_ids`.
    if fields.get("featured_positions"):
        fields["featured_positions"] = {}
    if fields.get("publication_ids"):
        fields["publication_ids"] = []
    # A listing may not be below itself, and a variant shows a picture of its publication.
    # A sale ends after it begins, and so does the time in which something is public. Its price is not above the price.
    for name in ("parent_id", "media_id", "sale_to", "unpublish_at", "sale_price_amount"):
        fields.pop(name, None)
    # Every publication has the first revision.
    if isinstance(fields.get("revision"), (int, float)):
        fields["revision"] = 1
    if fields.get("facets"):
        fields["facets"] = ["vendor", "tag"]
    if (fields.get("contact") or {}).get("email"):
        fields["contact"]["email"] = "hello@example.com"


def allow_backorders(fields):
    """The stock of a variant is below zero only with `allow_backorder`."""
    for variant in (fields, *(fields.get("variants") or [])):
        stock = variant.get("quantity_available")
        if isinstance(stock, (int, float)) and stock < 0:
            variant["allow_backorder"] = True


def detach(fields):
    """Attaches an upload to nothing, because a listing or publication would soon have its maximum number of media."""
    fields.pop("listing_id", None)
    fields.pop("publication_id", None)


def complete_items(case):
    """Gives each item the name that its action needs, and no other. Failed items are in the answer."""
    case.query = {**(case.query or {}), "on_error": "skip_failed"}
    for index, item in enumerate(case.body["items"]):
        item.pop("id", None)
        item.pop("external_id", None)
        item["body"] = {"title": "Cup"}
        if item["action"] in ("update", "delete"):
            item["id"] = f"00000000-0000-4000-8000-{index:012}"
        if item["action"] == "delete":
            item.pop("body")
            item.pop("listing_external_id", None)
        if item["action"] == "put":
            item["external_id"] = f"fuzz-{index}"
    for index, listing in enumerate(case.body.get("listings", [])):
        listing["external_id"] = f"fuzz-{index}"


def complete_new(path, body):
    """A PUT needs the required fields if it creates the resource. It may not contain another external id."""
    body.pop("external_id", None)
    is_listing = path.startswith("/api/listing/")
    body.update({"name": "Cups"} if is_listing else {"title": "Cup", "price_currency": "PEN", "price_amount": 100})
    # With variants, the price follows from theirs.
    body.pop("options", None)
    body.pop("variants", None)
