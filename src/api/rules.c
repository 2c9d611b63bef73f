/* `rules`: the table of fusion rules, as text, JSON, or the table of docs/fusion-rules.md. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "fuse/settings.h"

/* In a table's cell `|` is written `\|`. */
static void print_cell(opf_text *out, const char *text) {
    for (; *text; text++) opf_text_printf(out, *text == '|' ? "\\|" : "%c", *text);
}

/* "`off`: joins nothing; `long-row.bytes` = 262144: bytes of a row …" */
static void print_changes(opf_text *out, opf_rule_number rule) {
    const char *between = "";
    if (opf_rule_is_switch(rule)) opf_text_printf(out, "`off`: %s", opf_rule_switched(rule)), between = "; ";
    for (int k = 0; k < OPF_THRESHOLD_COUNT; k++) {
        if (opf_thresholds[k].rule != rule) continue;
        opf_text_printf(out, "%s`%s` = %.15g: %s", between, opf_thresholds[k].name, opf_thresholds[k].value, opf_thresholds[k].what);
        between = "; ";
    }
}

static void print_markdown(opf_text *out, const opf_rule_settings *settings) {
    (void)settings;
    opf_text_add(out, "| rule | verdict | what is said of a use | what would allow it | what a rule file may change |\n|---|---|---|---|---|\n");
    for (int r = OPF_RULE_SINGLE + 1; r < OPF_RULE_COUNT; r++) {
        const opf_remedy *remedy = &opf_remedies[r];
        opf_text_printf(out, "| `%s` | %s | ", opf_rules[r].id, opf_verdict_name(opf_rules[r].verdict));
        print_cell(out, opf_rules[r].sentence);
        opf_text_add(out, " | ");
        if (remedy->sentence) print_cell(out, remedy->sentence);
        if (remedy->only_tvm) opf_text_add(out, "; `best` is not bound by this rule");
        opf_text_add(out, " | ");
        print_changes(out, (opf_rule_number)r);
        opf_text_add(out, " |\n");
    }
}

/* What a rule file may change, and has changed. */
static void print_settings(opf_text *out, const opf_rule_settings *settings, opf_rule_number rule) {
    if (settings->off[rule]) opf_text_printf(out, "%31s switched off by %s: it %s\n", "", settings->off[rule], opf_rule_switched(rule));
    else if (opf_rule_is_switch(rule)) opf_text_printf(out, "%31s off %s: it %s\n", "", opf_rules[rule].id, opf_rule_switched(rule));
    for (int k = 0; k < OPF_THRESHOLD_COUNT; k++) {
        const opf_threshold *threshold = &opf_thresholds[k];
        if (threshold->rule != rule) continue;
        opf_text_printf(out, "%31s set %s = %.15g: %s", "", threshold->name, settings->thresholds[k], threshold->what);
        if (settings->thresholds[k] != threshold->value) opf_text_printf(out, " (by itself %.15g)", threshold->value);
        opf_text_add(out, "\n");
    }
}

static void print_text(opf_text *out, const opf_rule_settings *settings) {
    for (int r = OPF_RULE_SINGLE + 1; r < OPF_RULE_COUNT; r++) {
        opf_text_printf(out, "%-22s %-8s %s\n", opf_rules[r].id, opf_verdict_name(opf_rules[r].verdict), opf_rules[r].sentence);
        if (opf_remedies[r].sentence) opf_text_printf(out, "%31s allowed by: %s%s\n", "", opf_remedies[r].sentence, opf_remedies[r].only_tvm ? " (--fuse=best is not bound by this rule)" : "");
        print_settings(out, settings, (opf_rule_number)r);
    }
}

static json_t *thresholds_of(const opf_rule_settings *settings, opf_rule_number rule) {
    json_t *list = json_array();
    for (int k = 0; k < OPF_THRESHOLD_COUNT; k++)
        if (opf_thresholds[k].rule == rule)
            json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:o}", "name", opf_thresholds[k].name, "what", opf_thresholds[k].what, "default", opf_thresholds[k].value,
                                                  "value", isfinite(settings->thresholds[k]) ? json_real(settings->thresholds[k]) : json_null()));
    return list;
}

static void print_json(opf_text *out, const opf_rule_settings *settings) {
    json_t *rules = json_array();
    for (int r = OPF_RULE_SINGLE + 1; r < OPF_RULE_COUNT; r++)
        json_array_append_new(rules, json_pack("{s:s, s:s, s:s, s:s?, s:b, s:s?, s:s?, s:o}", "id", opf_rules[r].id, "verdict", opf_verdict_name(opf_rules[r].verdict), "sentence", opf_rules[r].sentence,
                                               "remedy", opf_remedies[r].sentence, "only_tvm", opf_remedies[r].only_tvm, "off", opf_rule_switched((opf_rule_number)r),
                                               "off_by", settings->off[r], "thresholds", thresholds_of(settings, (opf_rule_number)r)));
    json_t *root = json_pack("{s:i, s:o}", "schema", 1, "rules", rules);
    char *text = json_dumps(root, JSON_INDENT(1));
    if (!text) opf_out_of_memory();
    opf_text_printf(out, "%s\n", text);
    free(text);
    json_decref(root);
}

opf_status opf_fusion_rules(opf_context *context, const char *format, char **out) {
    static const struct { const char *format; void (*print)(opf_text *out, const opf_rule_settings *settings); } forms[] = {{"text", print_text}, {"json", print_json}, {"markdown", print_markdown}};
    opf_rule_settings defaults;
    opf_rule_settings_init(&defaults);
    *out = NULL;
    for (size_t i = 0; i < OPF_COUNT(forms); i++) {
        if (strcmp(forms[i].format, format) != 0) continue;
        opf_text text = {0};
        forms[i].print(&text, context ? &context->options.rules : &defaults);
        *out = opf_text_take(&text);
        return OPF_OK;
    }
    if (context) opf_diag_add(context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "rules come as text, json or markdown, not as '%s'", format);
    return OPF_ERROR_USAGE;
}
