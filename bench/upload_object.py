#!/usr/bin/env python3
"""Uploads a file as one object with the official Python client, as its manual shows.

    upload_object.py FILE URL BUCKET NAME
"""

import sys
import warnings

warnings.simplefilter("ignore")

from google.auth.credentials import AnonymousCredentials  # noqa: E402
from google.cloud import storage  # noqa: E402


def main(path, url, bucket, name):
    client = storage.Client(project="p", credentials=AnonymousCredentials(), client_options={"api_endpoint": url})
    client.bucket(bucket).blob(name).upload_from_filename(path, if_generation_match=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
