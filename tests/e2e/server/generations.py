"""Generations for every realistic schema of the reference data, held against jsonschema.

    generations.py MODEL [--count N] [--temperature T] [--max-tokens N] [--flags ...]

Each answer that came to its end by itself must conform; one that ran into max_tokens cannot be
judged. Ends with 1 where an answer does not conform, 77 where something that is needed is absent.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

QUIRE = os.environ["QUIRE"]
DATA = pathlib.Path(os.environ.get("QUIRE_TEST_DATA", ""))


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def rows():
    path = DATA / "schemas" / "schemas.jsonl"
    if not path.is_file():
        skip(f"there is no {path}")
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def request_of(row, args):
    prompt = (
        f"Write a JSON document, {row['name']}, that conforms to the schema\n"
        f"{json.dumps(row['schema'])[:300]}\nAnswer:\n")
    body = {"model": "model", "prompt": prompt, "n": args.count, "temperature": args.temperature,
            "seed": 1, "max_tokens": args.max_tokens,
            "structured_outputs": {"json": row["schema"]}}
    return {"custom_id": row["name"], "method": "POST", "url": "/v1/completions", "body": body}


def answers(requests, args):
    """By name, the choices of each request, as the program gives them for a file of requests."""
    with tempfile.TemporaryDirectory() as folder:
        asked = pathlib.Path(folder, "in.jsonl")
        given = pathlib.Path(folder, "out.jsonl")
        asked.write_text("".join(json.dumps(request) + "\n" for request in requests), "utf-8")
        command = [QUIRE, "run-batch", "--model", args.model, "-i", asked, "-o", given, "-q",
                   "--served-model-name", "model", *args.flags]
        subprocess.run([str(part) for part in command], check=True)
        replies = [json.loads(line) for line in given.read_text("utf-8").split("\n") if line]
    found = {}
    for reply in replies:
        status = reply["response"]["status_code"]
        if status != 200:
            raise SystemExit(f"{reply['custom_id']}: {status}: {reply['response']['body']}")
        found[reply["custom_id"]] = reply["response"]["body"]["choices"]
    return found


def wrong_with(text, validator):
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"is no JSON: {error}"
    for error in validator.iter_errors(value):
        return error.message[:200]
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--temperature", type=float, default=1.5)
    parser.add_argument("--max-tokens", type=int, default=300)
    parser.add_argument("--flags", nargs="*", default=[])
    args = parser.parse_args()
    if not pathlib.Path(args.model).exists():
        skip(f"there is no {args.model}")
    try:
        import jsonschema
    except ImportError:
        skip("jsonschema is not installed; make venv does so")
    asked = rows()
    found = answers([request_of(row, args) for row in asked], args)
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    num_whole = num_wrong = 0
    for row in asked:
        validator = jsonschema.Draft202012Validator(row["schema"], format_checker=checker)
        choices = found[row["name"]]
        whole = [c["text"] for c in choices if c["finish_reason"] == "stop"]
        others = {c["finish_reason"] for c in choices} - {"stop", "length"}
        if others:
            print(f"{row['name']}: ended by {others}")
            num_wrong += 1
        num_whole += len(whole)
        print(f"{row['name']}: {len(whole)} of {len(choices)} came to their end")
        for text in whole:
            problem = wrong_with(text, validator)
            if problem:
                num_wrong += 1
                print(f"  does not conform: {problem}\n    {text[:500]!r}")
    print(f"{num_whole} answers to {len(asked)} schemas came to their end; {num_wrong} are wrong")
    sys.exit(1 if num_wrong or num_whole < len(asked) else 0)


if __name__ == "__main__":
    main()
