"""Puts the reports of the conformance kits together, one line per requirement or test.

Reads v1-N.json and v1-N.xml (the reports of run N of the kit of 1.0) and
v03/CATEGORY_TRANSPORT_results.json in the directory that is its argument, and prints
results.json.
"""

import argparse
import datetime
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

OUTCOMES = {"PASS": "pass", "FAIL": "FAIL", "SKIPPED": "skipped"}
OUTCOMES_03 = {"passed": "pass", "xpassed": "pass", "xfailed": "expected failure", "skipped": "skipped", "failed": "FAIL", "error": "FAIL"}
# The kit of 0.3 runs tests of one transport on the others as well, and skips them there.
# Where one of them runs, the others are left out.
FOREIGN = re.compile(r"Test specific to|only applicable to")
FOREIGN_MARK = "not for this transport"


def requirements(directory):
    """The results of all runs by requirement: a failure in any run, else the first
    run that did not skip it, with its number if that is not the first."""
    found = {}
    for path in sorted(directory.glob("v1-*.json")):
        run = path.stem.removeprefix("v1-")
        for ident, r in json.loads(path.read_text())["per_requirement"].items():
            row = found.setdefault(ident, {"id": ident, "level": r["level"], "results": {}})
            for transport, status in r["transports"].items():
                result, before = OUTCOMES[status], row["results"].get(transport, "skipped")
                if run != "1" and result != "skipped":
                    result += f" (run {run})"
                if before == "skipped" or result.startswith("FAIL") and not before.startswith("FAIL"):
                    row["results"][transport] = result
    return [found[ident] for ident in sorted(found)]


def failures(directory):
    """The tests of the kit of 1.0 that failed. Its report by requirement leaves out
    those that failed before they recorded anything."""
    found = []
    for path in sorted(directory.glob("v1-*.xml")):
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                names = (case.get("classname", "") + "." + case.get("name", "")).split(".")
                found.append({"run": int(path.stem.removeprefix("v1-")), "test": " ".join(n for n in names if n.lower().startswith("test") and n != "tests")})
    return found


def reason(test):
    """Why a test was skipped, as the kit says it."""
    for phase in ("setup", "call"):
        text = test.get(phase, {}).get("longrepr", "")
        if match := re.search(r"'Skipped: (.*)'\)$", text) or re.search(r'"Skipped: (.*)"\)$', text):
            return match[1]
    return ""


def tests(directory):
    found = {}
    for path in sorted(directory.glob("v03/*_results.json")):
        category, _, transport = path.stem.removesuffix("_results").partition("_")
        for test in json.loads(path.read_text())["tests"]:
            file, *names = test["nodeid"].split("::")
            name = " ".join([file.split("/")[-1].removesuffix(".py"), *names])
            row = found.setdefault((category, name), {"category": category, "test": name, "results": {}, "why": []})
            result = OUTCOMES_03[test["outcome"]]
            row["results"][transport or "all"] = result
            why = reason(test) if result == "skipped" else ""
            if why and why not in row["why"]:
                row["why"].append(why)
            if why and FOREIGN.search(why):
                row["results"][transport] = FOREIGN_MARK
    for row in found.values():
        shown = {t: r for t, r in row["results"].items() if r != FOREIGN_MARK}
        if shown:
            row["why"] = [w for w in row["why"] if not FOREIGN.search(w)]
            row["results"] = shown
        else:
            row["results"] = {t: "skipped" for t in row["results"]}
        if not row["why"]:
            del row["why"]
    order = ["mandatory", "capabilities", "transport-equivalence", "quality", "features"]
    return sorted(found.values(), key=lambda r: (order.index(r["category"]), r["test"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--skillyard", required=True)
    parser.add_argument("--kit-1.0", dest="kit1", required=True)
    parser.add_argument("--kit-0.3", dest="kit03", required=True)
    args = parser.parse_args()
    head = {
        "measured": datetime.date.today().isoformat(),
        "skillyard": args.skillyard,
        "kits": {"1.0": args.kit1, "0.3": args.kit03},
    }
    out = sys.stdout
    out.write(json.dumps(head)[:-1])
    for name, rows in (("requirements", requirements(args.directory)), ("failures", failures(args.directory)), ("tests", tests(args.directory))):
        if not rows and name != "failures":
            sys.exit(f"no {name} in the reports")
        out.write(f',\n"{name}": [\n' + ",\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "\n]")
    out.write("}\n")


main()
