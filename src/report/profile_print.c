/* A profile as table, JSON, events for trace viewers, and stacks for flame graphs. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/fuse.h"
#include "report/profile.h"

enum { NAME_WIDTH = 56 };

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/* ---- table ---- */

static void print_name(const opf_step_profile *s, opf_text *out) {
    size_t length = strlen(s->name);
    if (length <= NAME_WIDTH) opf_text_add(out, s->name);
    else opf_text_printf(out, "%.*s…", NAME_WIDTH - 1, s->name);
    if (strcmp(s->kind, "kernel") != 0) opf_text_printf(out, " (%s)", s->kind);
}

static void print_row(const opf_profile *p, const opf_step_profile *s, opf_text *out) {
    double calls = s->calls > 1 ? s->calls : 1;
    opf_text_printf(out, "%5.1f %% %9.4f ms  %9.4f … %9.4f", 100 * s->share, s->median, s->least, s->most);
    opf_text_printf(out, " %7.1f %7.1f", s->flops / (s->median > 0 ? s->median : 1) / 1e6, s->bytes / (s->median > 0 ? s->median : 1) / 1e6);
    if (s->limit == OPF_LIMIT_NONE) opf_text_add(out, "               ");
    else opf_text_printf(out, " %4.0f %% %-10s", percent(s->least_possible, s->median), opf_limit_name(s->limit));
    if (p->measure->threads > 1) opf_text_printf(out, " %2d/%.2f", s->parts, s->balance);
    if (p->measure->counters) {
        const opf_step_counters *c = &p->measure->counters[s->step];
        opf_text_printf(out, " %5.2f %9.0f", c->cycles > 0 ? c->instructions / c->cycles : 0, c->cache_misses);
    }
    opf_text_printf(out, calls > 1 ? "  %.0f × " : "  ", calls);
    print_name(s, out);
    opf_text_add(out, "\n");
}

static void print_text(const opf_profile *p, opf_text *out) {
    const opf_measure *m = p->measure;
    opf_text_printf(out, "run %.4f ms, the median of %d in %d thread%s; steps %.4f ms (%.1f %% of it); with clocks on %.4f ms (%+.1f %%)\n", p->plain, m->runs, m->threads,
                    m->threads > 1 ? "s" : "", p->sum, percent(p->sum, p->run), p->run, percent(p->run - p->plain, p->plain));
    if (m->no_counters) opf_text_printf(out, "no hardware counters: %s\n", m->no_counters);
    opf_text_printf(out, "\n  share    median     fastest …   slowest  GFLOP/s    GB/s  of limit       %s%s  step\n", m->threads > 1 ? "parts/balance" : "", m->counters ? "   IPC    misses" : "");
    for (size_t i = 0; i < p->count; i++) print_row(p, &p->steps[i], out);
    bool any = false;
    for (size_t i = 0; i < p->count; i++) {
        if (!p->steps[i].diagnosis) continue;
        if (!any) opf_text_add(out, "\nfar from their limit, dearest first:\n");
        any = true;
        opf_text_printf(out, "  %s: %s\n", p->steps[i].name, p->steps[i].diagnosis);
    }
}

/* ---- JSON ---- */

static json_t *step_json(const opf_profile *p, const opf_step_profile *s) {
    json_t *o = json_pack("{s:i, s:s, s:s, s:f, s:f, s:f, s:f, s:i, s:i, s:f, s:f, s:f, s:s, s:f}", "step", s->step, "name", s->name, "kind", s->kind, "ms", s->median,
                          "least_ms", s->least, "most_ms", s->most, "share", s->share, "calls", s->calls, "parts", s->parts, "balance", s->balance, "flops", s->flops,
                          "bytes", s->bytes, "limit", opf_limit_name(s->limit), "limit_ms", s->least_possible);
    if (s->kernel) json_object_set_new(o, "kernel", json_string(s->kernel));
    if (s->diagnosis) json_object_set_new(o, "diagnosis", json_string(s->diagnosis));
    if (p->measure->counters) {
        const opf_step_counters *c = &p->measure->counters[s->step];
        json_object_set_new(o, "counters", json_pack("{s:f, s:f, s:f}", "cycles", c->cycles, "instructions", c->instructions, "cache_misses", c->cache_misses));
    }
    return o;
}

static void add_json(json_t *value, opf_text *out) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(value);
    if (!text) return;
    opf_text_add(out, text);
    opf_text_add(out, "\n");
    free(text);
}

static void print_json(const opf_profile *p, opf_text *out) {
    const opf_machine *machine = p->program->machine;
    json_t *steps = json_array();
    for (size_t i = 0; i < p->count; i++) json_array_append_new(steps, step_json(p, &p->steps[i]));
    json_t *rates = json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "name", machine->name, "flops_per_second", machine->flops_per_second, "l1_bandwidth", machine->l1_bandwidth,
                              "l2_bandwidth", machine->l2_bandwidth, "l3_bandwidth", machine->l3_bandwidth, "dram_bandwidth", machine->dram_bandwidth);
    const char *path = p->program->module->path;
    add_json(json_pack("{s:i, s:s, s:i, s:i, s:f, s:f, s:f, s:o, s:o}", "schema", 1, "model", path ? path : "", "threads", p->measure->threads, "runs", p->measure->runs, "run_ms", p->plain,
                       "run_with_clocks_ms", p->run, "steps_ms", p->sum, "machine", rates, "steps", steps),
             out);
}

/* ---- events and stacks ---- */

static const opf_step_profile *of_step(const opf_profile *p, int step) {
    for (size_t i = 0; i < p->count; i++)
        if (p->steps[i].step == step) return &p->steps[i];
    return NULL;
}

static void print_trace(const opf_profile *p, opf_text *out) {
    json_t *events = json_array();
    for (size_t i = 0; i < p->measure->events.count; i++) {
        const opf_step_event *e = &p->measure->events.data[i];
        const opf_step_profile *s = of_step(p, e->step);
        if (!s) continue;
        json_t *event = json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i}", "name", s->name, "cat", s->kind, "ph", "X", "ts", (double)e->begin / 1e3, "dur", (double)(e->end - e->begin) / 1e3,
                                  "pid", 1, "tid", e->part);
        json_object_set_new(event, "args", json_pack("{s:i, s:f, s:f}", "step", s->step, "flops", s->flops, "bytes", s->bytes));
        json_array_append_new(events, event);
    }
    add_json(json_pack("{s:o, s:s}", "traceEvents", events, "displayTimeUnit", "ns"), out);
}

/* `;` and blanks separate in this format. */
static void add_frame(const char *name, opf_text *out) {
    for (; *name; name++) opf_text_add_n(out, *name == ';' || *name == ' ' || *name == '\n' ? "_" : name, 1);
}

static void print_folded(const opf_profile *p, opf_text *out) {
    for (size_t i = 0; i < p->count; i++) {
        const opf_step_profile *s = &p->steps[i];
        const opf_step *step = &p->program->steps.data[s->step];
        opf_text_add(out, "run;");
        add_frame(step->kind == OPF_RUN_KERNEL ? opf_kind_name(step->nest->group->kind) : s->kind, out);
        opf_text_add(out, ";");
        add_frame(s->name, out);
        opf_text_printf(out, " %.0f\n", s->median * 1e6);
    }
}

opf_status opf_profile_print(const opf_profile *profile, const char *format, opf_text *out) {
    static const struct { const char *name; void (*print)(const opf_profile *, opf_text *); } formats[] = {
        {"text", print_text}, {"json", print_json}, {"trace", print_trace}, {"folded", print_folded}};
    for (size_t i = 0; i < OPF_COUNT(formats); i++) {
        if (strcmp(formats[i].name, format) != 0) continue;
        formats[i].print(profile, out);
        return OPF_OK;
    }
    return OPF_ERROR_USAGE;
}
