#!/usr/bin/env python3
"""Clicks through the report in a real browser.

    click.py OPFUSE MODEL… [--screenshots DIR]

For each model the report is made, opened in headless Chromium and used with the mouse and the keyboard: hover and click link
both pictures and the lists, sorting sorts, the search finds, zoom and drag move, Escape lets go; nothing may be asked of the
network and nothing may go wrong on the console. The report with times: points, roofs and rows belong together. Then the same page without Graphviz. The names in markup.onnx, beside this file,
are pieces of HTML and JavaScript. Status 1 where something does not hold, 77
where there is no browser."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import browser


class Failure(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Failure(what)


def explain(opfuse, model):
    return json.loads(subprocess.run([opfuse, "explain", model, "--json", "-q"], capture_output=True, text=True, check=True).stdout)


COUNT = "document.querySelectorAll({!r}).length"
BOX = "[...document.querySelectorAll('#pane-{} .box')]"


def count(page, selector):
    return page.run(COUNT.format(selector))


def settle(page):
    """Waits until views have glided to their places."""
    time.sleep(0.4)


def fit(page):
    """What is out of sight is not in the document: counts are made with the whole graphs in sight."""
    page.run("document.querySelectorAll('[data-zoom=fit]').forEach(button => button.click())")
    settle(page)


def shows_everything(page, log):
    fit(page)
    drawn = [g for g in log["groups"] if not g["graph"] and g["step"] != "folded"]
    expect(count(page, "#pane-after .box:not(.port)") == len(drawn), "a box for each group of the main graph")
    expect(count(page, "#tab-kernels tbody tr") == sum(g["step"] != "folded" for g in log["groups"]), "a row for each group")
    refused = sum(e["verdict"] == "refused" for e in log["edges"])
    expect(count(page, "#tab-refused .edge") == refused, "every refused use is listed")
    expect(f" {log['kernels']}" in page.run("document.getElementById('tiles').textContent").replace("→", "→ ").replace("  ", " "), "kernels in the header")
    overlap = page.run("""(() => { const r = [...document.querySelectorAll('#pane-after .box rect')].map(e => e.getBoundingClientRect());
        for (let i = 0; i < r.length; i++) for (let k = i + 1; k < r.length; k++)
          if (r[i].left < r[k].right - 1 && r[k].left < r[i].right - 1 && r[i].top < r[k].bottom - 1 && r[k].top < r[i].bottom - 1) return true;
        return false; })()""")
    expect(not overlap, "boxes do not cover each other")


def links_both_sides(page, log):
    group = next((g for g in log["groups"] if g["step"] == "kernel" and len(g["nodes"]) > 1 and not g["graph"]), None)
    if group is None:
        return
    box = BOX.format("after") + f".find(b => b.querySelector('text').textContent === '#{group['id']}').querySelector('rect')"
    fit(page)
    page.hover(box)
    expect(count(page, "#pane-before .box.linked") == len(group["nodes"]), f"hovering over kernel {group['id']} marks its {len(group['nodes'])} nodes")
    expect(not page.run("document.getElementById('tip').hidden"), "the tooltip is shown")
    page.click(box)
    settle(page)
    expect(count(page, "#pane-after .box.selected") == 1, "a click chooses the kernel")
    expect(page.run("document.querySelector('#tab-detail h2').textContent").endswith(f"#{group['id']}"), "the details are those of the kernel")
    code = page.run("(document.querySelector('#tab-detail pre.code') || {}).textContent") or ""
    expect("const opf_args *args" in code, "the details hold its C text")
    expect(count(page, "#tab-detail pre.code .k") > 0 and count(page, "#tab-detail pre.code .c") > 0, "the C text has colours")
    expect(page.run("(document.querySelector('#tab-detail pre.formula') || {}).textContent").startswith(("p", "s")), "the details hold its formula")
    inside = page.run(f"""(() => {{ const pane = document.querySelector('#pane-before svg').getBoundingClientRect();
        return [...document.querySelectorAll('#pane-before .box.selected')].some(b => {{ const r = b.getBoundingClientRect();
          return r.left > pane.left - 1 && r.right < pane.right + 1 && r.top > pane.top - 1 && r.bottom < pane.bottom + 1; }}); }})()""")
    expect(inside, "the chosen nodes are in sight")
    fit(page)
    expect(count(page, "#pane-before .box.selected") == len(group["nodes"]), "a click chooses the nodes of the kernel")
    node = BOX.format("before") + ".find(b => b.classList.contains('selected')).querySelector('rect')"
    page.click(node)
    settle(page)
    expect(page.run("document.querySelector('#tab-detail h2').textContent").endswith(f"#{group['id']}"), "a click on a node chooses its kernel")
    page.key("Escape", 27)
    expect(count(page, ".box.selected") == 0, "Escape lets go")


def lists_work(page, log):
    page.click("document.querySelector('#tabs [data-tab=kernels]')")
    page.click("document.querySelector('th[data-sort=before]')")
    first = page.run("Number(document.querySelector('#tab-kernels tbody tr').dataset.group)")
    most = max(g["bytes_before"] for g in log["groups"] if g["step"] != "folded")
    expect(next(g for g in log["groups"] if g["id"] == first)["bytes_before"] == most, "sorting by bytes puts the largest first")
    page.click("document.querySelector('#tab-kernels tbody tr')")
    settle(page)
    expect(count(page, "#pane-after .box.selected") == 1 or any(g["graph"] for g in log["groups"]), "a row chooses its kernel")
    if any(e["verdict"] == "refused" for e in log["edges"]):
        page.click("document.querySelector('#tabs [data-tab=refused]')")
        expect(count(page, "#tab-refused .remedy") > 0, "refused uses come with what would allow them")
        page.click("document.querySelector('#tab-refused .edge h3')")
        settle(page)
        expect(not page.run("document.getElementById('tab-detail').hidden"), "a refused use leads to the details")
    page.key("Escape", 27)


def search_finds(page, log):
    name = next(g for g in log["groups"] if g["step"] == "kernel" and not g["graph"])["nodes"][0]
    page.key("/", 191)
    expect(page.run("document.activeElement.id") == "search", "/ goes to the search")
    page.run("document.getElementById('search').value = ''")
    page.type(name)
    expect(count(page, "#found li") >= 1 and not page.run("document.getElementById('found').hidden"), "the search lists what it finds")
    page.key("Enter", 13)
    settle(page)
    expect(count(page, "#pane-before .box.match") >= 1, "matches are marked in the picture")
    expect(count(page, "#pane-before .box.selected") >= 1, "Enter chooses the first match")
    page.key("Escape", 27)
    page.key("Escape", 27)
    page.run("document.activeElement.blur()")
    page.key("Escape", 27)


def views_move(page):
    where = "document.querySelector('#pane-before svg > g').getAttribute('transform')"
    x, y = page.middle("document.querySelector('#pane-before svg')")
    old = page.run(where)
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-240)
    zoomed = page.run(where)
    expect(zoomed != old, "the wheel zooms")
    page.mouse("mouseMoved", x, y)
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseMoved", x + 60, y + 40, button="left", buttons=1)
    page.mouse("mouseReleased", x + 60, y + 40, button="left", clickCount=1)
    expect(page.run(where) != zoomed, "dragging moves")
    page.click("document.querySelector('#pane-before [data-zoom=fit]')")
    fitted = page.run("(() => { const p = document.querySelector('#pane-before svg'), r = p.getBoundingClientRect(), g = p.querySelector('g').getBoundingClientRect();"
                      "return g.top >= r.top - 2 && g.bottom <= r.bottom + 2 && g.left >= r.left - 2 && g.right <= r.right + 2; })()")
    expect(fitted, "Fit shows the whole graph")


def times_are_shown(page, opfuse, model, folder, screenshots):
    """The report with --profile: every step below its roof, in the table, and tied to its kernel."""
    html = os.path.join(folder, "measured.html")
    subprocess.run([opfuse, "report", model, "-o", html, "-q", "--profile", "--warmup", "1", "--runs", "3", "--threads", "2"], check=True)
    page.open(html)
    settle(page)
    schemes(page, screenshots, os.path.basename(os.path.dirname(os.path.abspath(model))) + "-measured")
    log = json.loads(page.run("document.getElementById('data').textContent"))
    plot, kernels = log["roofline"], log["memory"]["steps"]
    placed = [s for s in plot["steps"] if s["at"]]
    expect(count(page, "#roofline .point") == len(placed) > 0, "a point for each step that has a place")
    expect(count(page, "#tab-time tbody tr[data-step]") == len(plot["steps"]), "a row for each step")
    expect(count(page, "#tab-time tbody tr.why") == sum(s["diagnosis"] is not None for s in plot["steps"]), "a sentence for each step that is far from its limit")
    expect(count(page, "#roofline .roof") == len(plot["roofs"]) == 6, "two threads have two peaks and four slopes")
    expect(abs(sum(s["share"] for s in plot["steps"]) - 1) < 1e-3, "the shares of all steps are the whole")
    astray = page.run("""(() => { const p = document.querySelector('#roofline').getBoundingClientRect();
        return [...document.querySelectorAll('#roofline text')].filter(e => { const r = e.getBoundingClientRect();
          return r.left < p.left - 1 || r.right > p.right + 1 || r.top < p.top - 1 || r.bottom > p.bottom + 1; }).map(e => e.textContent).join(', '); })()""")
    expect(astray == "", f"every word stands inside the plot: {astray}")
    covered = page.run("""(() => { const all = [...document.querySelectorAll('#roofline .label, #roofline .tick')].map(e => [e.textContent, e.getBoundingClientRect()]);
        for (let i = 0; i < all.length; i++) for (let k = i + 1; k < all.length; k++) { const [a, r] = all[i], [b, q] = all[k];
          if (r.left < q.right - 1 && q.left < r.right - 1 && r.top < q.bottom - 3 && q.top < r.bottom - 3) return a + ' and ' + b; }
        return ''; })()""")
    expect(covered == "", f"names of points do not cover each other: {covered}")
    hidden = page.run("""(() => { const points = [...document.querySelectorAll('#roofline .point')].map(e => e.getBoundingClientRect());
        return [...document.querySelectorAll('#roofline .tick')].filter(e => { const r = e.getBoundingClientRect();
          return points.some(q => r.left < q.right - 1 && q.left < r.right - 1 && r.top < q.bottom - 4 && q.top < r.bottom - 4); }).map(e => e.textContent).join(', '); })()""")
    expect(hidden == "", f"no point covers the numbers of the axes: {hidden}")
    wide = page.run("(() => { const t = document.getElementById('tab-time'); return t.scrollWidth > t.clientWidth; })()")
    expect(not wide, "the table needs no scrolling to the side")
    step = next((s for s in reversed(placed) if kernels[s["step"]]["group"] is not None), None)  # drawn last: under nothing
    if step is None:
        return
    group, point = kernels[step["step"]]["group"], f"document.querySelector('#roofline .point[data-step=\"{step['step']}\"]')"
    page.hover(point)
    expect(count(page, "#tab-time tr.linked[data-step]") >= 1 and count(page, "#roofline .point.linked") >= 1, "hovering over a point marks its row")
    expect(not page.run("document.getElementById('tip').hidden") and "GFLOP/s" in page.run("document.getElementById('tip').textContent"), "the tooltip tells its figures")
    page.click(point)
    settle(page)
    expect(page.run("document.querySelector('#tab-detail h2').textContent").endswith(f"#{group}"), "a click on a point chooses its kernel")
    expect("GB/s" in page.run("(document.querySelector('#tab-detail .measured-facts') || {}).textContent || ''"), "the details hold its times")
    expect(count(page, f"#tab-kernels tr.selected[data-group='{group}']") == 1, "the list of kernels shows it")
    expect(count(page, "#roofline .point.selected") >= 1, "the point is marked as chosen")
    page.key("Escape", 27)
    expect(count(page, "#roofline .point.selected") == 0, "Escape lets the point go")
    page.click("document.querySelector('#tabs [data-tab=time]')")
    page.click("document.querySelector('#tab-time tbody tr[data-step]')")
    settle(page)
    first = kernels[plot["steps"][0]["step"]]["group"]
    expect(first is None or page.run("document.querySelector('#tab-detail h2').textContent").endswith(f"#{first}"), "a row of times chooses its kernel")
    expect(not page.complaints(), "; ".join(page.complaints()))


def is_quick(page):
    """What a movement of the mouse asks for must be short even for large graphs: marks, style and layout of both pictures."""
    took = page.run("(() => { const boxes = document.querySelectorAll('#pane-after .box'), times = [];"
                    "for (let i = 0; i < 20; i++) { const t = performance.now();"
                    "boxes[i % boxes.length].dispatchEvent(new PointerEvent('pointerenter', {clientX: 5, clientY: 5}));"
                    "document.body.getBoundingClientRect(); times.push(performance.now() - t); }"
                    "return Math.min(...times); })()")
    expect(took < 60, f"hovering takes {took:.1f} ms")


def schemes(page, folder, name):
    shades = {}
    settle(page)
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        shades[scheme] = page.run("getComputedStyle(document.body).backgroundColor")
        if folder:
            page.screenshot(os.path.join(folder, f"{name}-{scheme}.png"))
    page.scheme("light")
    expect(shades["light"] != shades["dark"], "light and dark differ")


def try_model(page, opfuse, model, folder, screenshots):
    html = os.path.join(folder, "report.html")
    subprocess.run([opfuse, "report", model, "-o", html, "-q"], check=True)
    text = open(html, encoding="utf-8").read()
    head, data = text.split('<script type="application/json" id="data">')
    page_text = head + data.split("</script>", 1)[1]
    expect(not any(mark in page_text for mark in ("src=", "@import", "<link", "url(")), "the page refers to no other file")
    expect(page_text.count("<script") == 1, "names of a model are no markup")
    log = explain(opfuse, model)
    page.open(html)
    expect(page.run("document.title").endswith("opfuse"), "the title is that of the page")
    schemes(page, screenshots, os.path.basename(os.path.dirname(os.path.abspath(model))))
    shows_everything(page, log)
    links_both_sides(page, log)
    lists_work(page, log)
    search_finds(page, log)
    views_move(page)
    page.open(html)
    settle(page)
    is_quick(page)
    expect(page.run("document.getElementById('pane-roofline').hidden"), "no plot where nothing was measured")
    expect(not page.complaints(), "; ".join(page.complaints()))
    times_are_shown(page, opfuse, model, folder, screenshots)


def try_without_graphviz(page, opfuse, model, folder):
    html, empty = os.path.join(folder, "plain.html"), os.path.join(folder, "bin")
    os.mkdir(empty)
    made = subprocess.run([opfuse, "report", model, "-o", html], env=dict(os.environ, PATH=empty), capture_output=True, text=True)
    expect(made.returncode == 0 and "Graphviz" in made.stderr, "without Graphviz the report is made, and a note says so")
    log = explain(opfuse, model)
    page.open(html)
    expect("Graphviz" in page.run("document.getElementById('notice').textContent") and not page.run("document.getElementById('notice').hidden"), "the page says what is missing")
    shows_everything(page, log)
    links_both_sides(page, log)
    expect(not page.complaints(), "; ".join(page.complaints()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opfuse")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--screenshots")
    args = parser.parse_args()
    args.opfuse = os.path.abspath(args.opfuse)
    path = browser.find()
    if not path:
        print("no browser: one of " + ", ".join(browser.NAMES))
        return 77
    page, bad = browser.Browser(path), 0
    try:
        for k, model in enumerate(args.models):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    try_model(page, args.opfuse, model, folder, args.screenshots)
                    if k == 0:
                        try_without_graphviz(page, args.opfuse, model, folder)
                    print(f"ok {model}", flush=True)
                except (Failure, RuntimeError, TimeoutError, subprocess.CalledProcessError) as failure:
                    bad += 1
                    print(f"FAILED {model}: {failure}", flush=True)
    finally:
        page.close()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
