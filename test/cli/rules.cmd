# status 0
opfuse rules | grep -A 1 -E '^(prologue|prologue-shared) '
opfuse rules --json | python3 -c 'import json, sys; rules = json.load(sys.stdin)["rules"]; print(all(r["id"] and r["sentence"] and (r["verdict"] == "refused") == bool(r["remedy"]) for r in rules), len({r["id"] for r in rules}) == len(rules))'
