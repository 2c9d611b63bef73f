/* `rules`: the table of fusion rules, as text, JSON, or the table of docs/fusion-rules.md. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "fuse/rules.h"

/* In a table's cell `|` is written `\|`. */
static void print_cell(opf_text *out, const char *text) {
    for (; *text; text++) opf_text_printf(out, *text == '|' ? "\\|" : "%c", *text);
}

static void print_markdown(opf_text *out) {
    opf_text_add(out, "| rule | verdict | what is said of a use | what would allow it |\n|---|---|---|---|\n");
    for (int r = OPF_RULE_SINGLE + 1; r < OPF_RULE_COUNT; r++) {
        const opf_remedy *remedy = &opf_remedies[r];
        opf_text_printf(out, "| `%s` | %s | ", opf_rules[r].id, opf_verdict_name(opf_rules[r].verdict));
        print_cell(out, opf_rules[r].sentence);
        opf_text_add(out, " | ");
        if (remedy->sentence) print_cell(out, remedy->sentence);
        if (remedy->only_tvm) opf_text_add(out, "; `best` is not bound by this rule");
        opf_text_add(out, " |\n");
    }
}

static void print_text(opf_text *out) {
    for (int r = OPF_RULE_SINGLE + 1; r < OPF_RULE_COUNT; r++) {
        opf_text_printf(out, "%-22s %-8s %s\n", opf_rules[r].id, opf_verdict_name(opf_rules[r].verdict), opf_rules[r].sentence);
        if (opf_remedies[r].sentence) opf_text_printf(out, "%31s allowed by: %s%s\n", "", opf_remedies[r].sentence, opf_remedies[r].only_tvm ? " (--fuse=best is not bound by this rule)" : "");
    }
}

static void print_json(opf_text *out) {
    json_t *rules = json_array();
    for (int r = OPF_RULE_SINGLE + 1; r < OPF_RULE_COUNT; r++)
        json_array_append_new(rules, json_pack("{s:s, s:s, s:s, s:s?, s:b}", "id", opf_rules[r].id, "verdict", opf_verdict_name(opf_rules[r].verdict), "sentence", opf_rules[r].sentence,
                                               "remedy", opf_remedies[r].sentence, "only_tvm", opf_remedies[r].only_tvm));
    json_t *root = json_pack("{s:i, s:o}", "schema", 1, "rules", rules);
    char *text = json_dumps(root, JSON_INDENT(1));
    if (!text) opf_out_of_memory();
    opf_text_printf(out, "%s\n", text);
    free(text);
    json_decref(root);
}

opf_status opf_fusion_rules(opf_context *context, const char *format, char **out) {
    static const struct { const char *format; void (*print)(opf_text *out); } forms[] = {{"text", print_text}, {"json", print_json}, {"markdown", print_markdown}};
    *out = NULL;
    for (size_t i = 0; i < OPF_COUNT(forms); i++) {
        if (strcmp(forms[i].format, format) != 0) continue;
        opf_text text = {0};
        forms[i].print(&text);
        *out = opf_text_take(&text);
        return OPF_OK;
    }
    if (context) opf_diag_add(context->diags, OPF_ERROR, "usage", OPF_NO_PLACE, "rules come as text, json or markdown, not as '%s'", format);
    return OPF_ERROR_USAGE;
}
