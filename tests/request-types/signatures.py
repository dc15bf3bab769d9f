"""Writes requests with botocore's signature into FILE, for a test of `stepwell-io`: `python signatures.py FILE`. With
`--check` the file is compared instead.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from pathlib import Path
from unittest import mock

from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

TIME = 1_790_000_000
HEADERS = ("authorization", "x-amz-date", "x-amz-security-token")
CASES = [
    ("eu-central-1", "anthropic.claude-sonnet-4-5-20250929-v1%3A0", None, '{"messages":[]}'),
    ("us-east-1", "amazon.nova-lite-v1%3A0", "FwoGZXIvYXdzEXAMPLE//token==", '{"messages":[{"role":"user","content":[{"text":"Gr\u00fc\u00dfe"}]}]}'),
    ("us-gov-west-1", "arn%3Aaws%3Abedrock%3Aus-gov-west-1%3A1%3Aapplication-inference-profile%2Fa1", None, ""),
    ("us-west-2", "a%20model~with_odd.characters%25", None, "{}"),
]  # fmt: skip


def signed(region: str, model: str, token: str | None, body: str) -> dict[str, object]:
    url = f"https://bedrock-runtime.{region}.amazonaws.com/model/{model}/converse-stream"
    key_id, secret = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    request = AWSRequest(method="POST", url=url, data=body.encode(), headers={"content-type": "application/json"})
    now = datetime.fromtimestamp(TIME, timezone.utc)
    with mock.patch.object(auth, "get_current_datetime", return_value=now.replace(tzinfo=None)):
        auth.SigV4Auth(Credentials(key_id, secret, token), "bedrock", region).add_auth(request)
    headers = {name.lower(): value for name, value in request.headers.items() if name.lower() in HEADERS}
    return {
        "url": url, "body": body, "time": TIME, "access_key_id": key_id, "secret_access_key": secret,
        "session_token": token, "headers": headers,
    }  # fmt: skip


def main() -> int:
    text = json.dumps([signed(*case) for case in CASES], indent=2) + "\n"
    file = Path(sys.argv[-1])
    if "--check" not in sys.argv:
        file.write_text(text, encoding="utf-8")
        return 0
    is_same = file.read_text(encoding="utf-8") == text
    print(f"signatures: {len(CASES)} requests, {'the same' if is_same else 'not as they are kept'}")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
