/* The rule table. docs/fusion.md lists it with examples. */
#include "fuse/rules.h"

#include <string.h>

const opf_rule opf_rules[OPF_RULE_COUNT] = {
    [OPF_RULE_SINGLE] = {"single", -1, OPF_REFUSED, "one node"},

    [OPF_RULE_ANCHOR_EPILOGUE] = {"anchor-epilogue", 0, OPF_FUSED,
        "'{to}' ({to_kind}) is element-wise work behind '{source}': done on each element before it is stored"},
    [OPF_RULE_ELEMWISE] = {"elemwise", 0, OPF_FUSED,
        "'{from}' ({from_kind}) is computed where '{to}' ({to_kind}) reads it, one element for one"},
    [OPF_RULE_INJECTIVE] = {"injective", 1, OPF_FUSED,
        "'{from}' ({from_kind}) is computed where '{to}' ({to_kind}) reads it; only positions change on the way to '{sink}'"},
    [OPF_RULE_ROWS] = {"rows", -1, OPF_FUSED,
        "'{from}' and '{to}' are computed row by row in one loop nest: '{value}' is never stored whole"},
    [OPF_RULE_IN_PASSING] = {"in-passing", -1, OPF_FUSED,
        "'{value}' is stored for others, and '{to}' takes each element of it in passing"},
    [OPF_RULE_PROLOGUE] = {"prologue", -1, OPF_FUSED,
        "'{from}' ({from_kind}) is done while '{to}' ({to_kind}) reads its operand: '{value}' is never stored"},
    [OPF_RULE_SIBLINGS] = {"siblings", -1, OPF_FUSED,
        "'{from}' and '{to}' are in one kernel with others that read the same values"},
    [OPF_RULE_BLOCKS] = {"row-blocks", -1, OPF_FUSED,
        "'{from}' and '{to}' are computed a block of rows at a time in one loop nest: no more of '{value}' exists at once"},
    [OPF_RULE_COPIED] = {"copied", -1, OPF_COPIED,
        "'{from}' ({from_kind}) is cheap and computed again by each of its readers, '{to}' among them: '{value}' is never stored"},
    [OPF_RULE_GATE] = {"gate", -1, OPF_COPIED,
        "'{value}' is small: each part of the kernel of '{to}' computes it whole in its own scratch"},
    [OPF_RULE_SHARED_OPERAND] = {"shared-operand", -1, OPF_FUSED,
        "'{from}' and '{to}' are in one kernel with contractions that share an operand and are computed side by side"},
    [OPF_RULE_POOL] = {"pool-behind", -1, OPF_FUSED,
        "'{from}' is computed a few lines at a time, where '{to}' takes its windows: no more of '{value}' exists at once"},
    [OPF_RULE_BAND] = {"bands", -1, OPF_FUSED,
        "'{from}' is computed a few lines at a time, for all channels, where '{to}' reads them: no more of '{value}' exists at once"},
    [OPF_RULE_PINNED] = {"pinned", -1, OPF_FUSED, "the groups file puts '{from}' and '{to}' in one group"},
    [OPF_RULE_PATTERN] = {"pattern", -1, OPF_FUSED, "pattern '{pattern}' ({place}) puts '{from}' and '{to}' into one kernel"},
    [OPF_RULE_OWN_KERNEL] = {"pattern-kernel", -1, OPF_FUSED, "pattern '{pattern}' ({place}) binds '{from}' and '{to}' to a kernel of the user's"},

    [OPF_RULE_POLICY_NONE] = {"policy-none", -1, OPF_REFUSED, "policy none: each node is a kernel of its own"},
    [OPF_RULE_PINNED_APART] = {"pinned-apart", -1, OPF_REFUSED, "the groups file puts '{from}' and '{to}' in different groups"},
    [OPF_RULE_SWITCHED_OFF] = {"switched-off", -1, OPF_REFUSED,
        "rule '{off}' would join '{from}' and '{to}', if no rule were switched off ({place})"},
    [OPF_RULE_PATTERN_APART] = {"pattern-apart", -1, OPF_REFUSED,
        "pattern '{pattern}' ({place}) forbids one kernel for '{from}' and '{to}', or for nodes that would be in it with them"},
    [OPF_RULE_PATTERN_BORDER] = {"pattern-border", -1, OPF_REFUSED,
        "pattern '{pattern}' ({place}) says which nodes its kernel holds: of '{from}' and '{to}' one is none of them"},
    [OPF_RULE_PATTERN_REFUSED] = {"pattern-refused", -1, OPF_REFUSED,
        "pattern '{pattern}' ({place}) wants '{from}' and '{to}' in one kernel, which cannot be: {why}"},
    [OPF_RULE_MODEL_OUTPUT] = {"model-output", -1, OPF_REFUSED,
        "'{value}' is a model output: it is stored in any case, and a group ends where a result leaves the graph"},
    [OPF_RULE_NO_MEETING] = {"no-meeting", -1, OPF_REFUSED,
        "the uses of '{from}' ({users}) do not lead to one common node, so '{value}' is stored for all of them"},
    [OPF_RULE_OPAQUE_PRODUCER] = {"opaque-producer", -1, OPF_REFUSED, "'{from}' is opaque: nothing joins it"},
    [OPF_RULE_OPAQUE_CONSUMER] = {"opaque-consumer", 0, OPF_REFUSED,
        "'{blocker}' on the way from '{from}' to '{sink}' is opaque: nothing joins it"},
    [OPF_RULE_REDUCTION_ENDS] = {"reduction-ends-group", -1, OPF_REFUSED,
        "'{from}' (comm_reduce) ends its group: its result is known only after the whole reduction"},
    [OPF_RULE_DEPTH] = {"max-depth", 0, OPF_REFUSED,
        "the group of '{sink}' would hold more than {limit} nodes, the limit (--max-depth)"},

    [OPF_RULE_ANCHOR_EDGE] = {"anchor-edge", 0, OPF_REFUSED,
        "'{from}' is or holds an anchor; only element-wise work joins behind one, and '{blocker}' is {met}"},
    [OPF_RULE_ANCHOR_PATH] = {"anchor-path", 0, OPF_REFUSED,
        "'{blocker}', between the anchor '{source}' and '{sink}', belongs to a group of kind {met}"},
    [OPF_RULE_ANCHOR_SINK] = {"anchor-sink", 0, OPF_REFUSED,
        "'{sink}' already belongs to a group of kind {met}, which an anchor cannot join: one group, one anchor"},

    [OPF_RULE_BEFORE_ANCHOR] = {"before-anchor", 0, OPF_REFUSED,
        "'{blocker}' ({met}) reads its operands many times over: work in front of it would be repeated, so '{value}' is stored"},
    [OPF_RULE_ANCHOR_BETWEEN] = {"anchor-between", 0, OPF_REFUSED,
        "'{blocker}' ({met}) stands on a way from '{from}' to '{sink}', where the uses of '{value}' meet again"},
    [OPF_RULE_ELEMWISE_PATH] = {"elemwise-path", 0, OPF_REFUSED,
        "'{blocker}' belongs to a group of kind {met} and stands between '{from}' and '{sink}', where the uses of '{value}' meet again"},

    [OPF_RULE_INJECTIVE_PATH] = {"injective-path", 1, OPF_REFUSED,
        "'{blocker}', between '{from}' and '{sink}', belongs to a group of kind {met}: index maps join neither reductions nor anchors"},
    [OPF_RULE_INJECTIVE_SINK] = {"injective-sink", 1, OPF_REFUSED,
        "'{sink}' belongs to a group of kind {met}: index maps join neither reductions nor anchors"},

    [OPF_RULE_DOMAINS] = {"domains", -1, OPF_REFUSED,
        "the nest of '{from}' and '{to}' would have results of different shapes ('{blocker}' has another one)"},
    [OPF_RULE_NOT_ROWS] = {"not-rows", -1, OPF_REFUSED,
        "'{blocker}' does not work along rows of the common result: it would have to be stored whole"},
    [OPF_RULE_LONG_ROW] = {"long-row", -1, OPF_REFUSED,
        "the row of '{blocker}' has {bytes} bytes at nominal sizes, more than stays in a core's cache"},
    [OPF_RULE_FEW_ROWS] = {"few-rows", -1, OPF_REFUSED,
        "there are so few and so long rows of '{blocker}' that one nest would leave threads without work"},
    [OPF_RULE_AGAINST_GRAIN] = {"against-grain", -1, OPF_REFUSED,
        "'{blocker}' reads memory along another axis than the last one of the results of '{from}' and '{to}', along which these are written"},
    [OPF_RULE_VIEW_STAYS] = {"view-stays", -1, OPF_REFUSED,
        "'{blocker}' only gives another shape and costs nothing; in a kernel its result would be stored"},
    [OPF_RULE_TOO_LARGE] = {"too-large", -1, OPF_REFUSED,
        "with all that lies between '{from}' and '{to}' the group would hold more than {limit} nodes"},
    [OPF_RULE_HEAVY_BETWEEN] = {"heavy-between", -1, OPF_REFUSED,
        "'{blocker}', which takes part or lies between '{from}' and '{to}', is a contraction, a window or opaque"},

    [OPF_RULE_NOT_BLOCKS] = {"not-blocks", -1, OPF_REFUSED,
        "'{from}' and '{to}' are no nest in blocks of rows: '{blocker}' does not work along rows that all of it has"},
    [OPF_RULE_BLOCKS_AGAIN] = {"blocks-again", -1, OPF_REFUSED,
        "in blocks of rows '{blocker}' would read its other operand once for each block, or copy it first, {bytes} bytes more in all at nominal sizes: more than "
        "not storing '{value}' saves"},

    [OPF_RULE_PROLOGUE_SHARED] = {"prologue-shared", -1, OPF_REFUSED,
        "'{from}' has other users ({users}), for which '{value}' is stored in any case"},
    [OPF_RULE_PROLOGUE_DEAR] = {"prologue-dear", -1, OPF_REFUSED,
        "'{from}' and what it is joined with are too dear to be done again for each copy that '{to}' makes of its operand"},
    [OPF_RULE_PROLOGUE_REPEATED] = {"prologue-repeated", -1, OPF_REFUSED,
        "'{to}' reads each element of '{value}' several times and makes no copy of it: work in front would be repeated"},
    [OPF_RULE_PROLOGUE_JOINS] = {"prologue-joins", -1, OPF_REFUSED,
        "'{from}' joins tensors: '{to}' would choose between them for every element of its operand"},
    [OPF_RULE_PROLOGUE_IN_PLACE] = {"prologue-in-place", -1, OPF_REFUSED,
        "'{to}' reads the lines of '{value}' where they lie, all as one; what stands in front differs along a line, so they would be copied line by line"},

    [OPF_RULE_SCALE_AHEAD] = {"scale-ahead", -1, OPF_REFUSED,
        "'{to}' is done while the contraction behind it reads its operand, so that its {bytes} bytes are never stored: '{value}' is handed there as it is"},

    [OPF_RULE_COPY_DEAR] = {"copy-dear", -1, OPF_REFUSED,
        "'{from}' has several readers ({users}): to compute it again for each would take longer than to store and read the {bytes} bytes of '{value}'"},

    [OPF_RULE_PASSING_APART] = {"passing-apart", -1, OPF_REFUSED,
        "'{value}' is stored in any case, and '{to}' does not take it element for element: as one more result of the kernel of '{from}' it would be written across memory, to save one reading of {bytes} bytes"},

    [OPF_RULE_BAND_EXPANDED] = {"bands-expanded", -1, OPF_REFUSED,
        "'{to}' takes windows of '{value}' ({bytes} bytes): each band of its lines would want lines of '{from}', a contraction, that the next one wants too. Measured, that pays where the window's own result is smaller by 3 MiB or more; else '{to}' stands better with what reads it"},
    [OPF_RULE_BAND_CACHED] = {"bands-cached", -1, OPF_REFUSED,
        "'{value}' has {bytes} bytes, which a core's own cache holds: '{to}' reads them back at once, and to compute '{from}' a few lines at a time would read borders again"},
    [OPF_RULE_JOIN_APART] = {"join-apart", -1, OPF_REFUSED,
        "the parts of '{to}' do not lie whole in its result, something varies in front of the axis: '{value}' is copied there piece by piece, which moves {bytes} bytes at nominal sizes"},
    [OPF_RULE_JOIN_UNKNOWN] = {"join-unknown", -1, OPF_REFUSED,
        "where '{value}' belongs in the result of '{to}' is known only behind a step that finds a size: it is copied there, which moves {bytes} bytes at nominal sizes"},
    [OPF_RULE_JOIN_COPIES] = {"join-copies", -1, OPF_REFUSED,
        "'{to}' copies its operands, of '{value}' that moves {bytes} bytes at nominal sizes: one of them is an input, a constant, a model output or a part of another result, and "
        "is stored elsewhere in any case"},

    [OPF_RULE_JOIN_STAYS] = {"join-stays", -1, OPF_REFUSED,
        "the parts of '{value}' are computed where they belong in it, by the kernels in front of '{from}': '{to}' reads it as they leave it"},

    [OPF_RULE_JOIN] = {"join", -1, OPF_VIEWED,
        "'{value}' is computed where it belongs in the result of '{to}': nothing is copied"},
    [OPF_RULE_JOIN_AT_ONE] = {"join-at-one", -1, OPF_VIEWED,
        "'{value}' is computed where it belongs in the result of '{to}', and nothing copied, where the sizes in front of the axis are 1, as they are at nominal sizes; where more comes, a kernel joins the parts"},
    [OPF_RULE_VIEW] = {"view", -1, OPF_VIEWED, "'{to}' only gives the same elements another shape: its result is '{value}' itself"},
    [OPF_RULE_FOLDED_USE] = {"folded-use", -1, OPF_FOLDED,
        "'{to}' is known before the program runs, as an expression of the sizes: it does not read '{value}'"},
    [OPF_RULE_FOLDED_VALUE] = {"folded-value", -1, OPF_FOLDED,
        "'{value}' is known before the program runs, as an expression of the sizes: '{to}' has it in its code"},
    [OPF_RULE_SHAPE_ONLY] = {"shape-only", -1, OPF_FOLDED,
        "'{to}' is never computed: of its results only the shapes are used, and those are known before the program runs"},
};

static const char *word(const char *field, size_t length, const opf_rule_words *words) {
    const struct { const char *name, *text; } table[] = {
        {"from", words->from}, {"from_kind", words->from_kind}, {"from_op", words->from_op}, {"to", words->to}, {"to_kind", words->to_kind},
        {"value", words->value}, {"source", words->source}, {"sink", words->sink}, {"blocker", words->blocker},
        {"blocker_op", words->blocker_op}, {"met", words->met}, {"users", words->users},
        {"off", words->off}, {"pattern", words->pattern}, {"why", words->why}, {"place", words->place},
    };
    for (size_t i = 0; i < OPF_COUNT(table); i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, field, length) == 0)
            return table[i].text ? table[i].text : "?";
    return "?";
}

void opf_words_print(const char *sentence, const opf_rule_words *words, opf_text *out) {
    for (const char *at = sentence; *at;) {
        size_t plain = strcspn(at, "{");
        opf_text_add_n(out, at, plain);
        at += plain;
        if (!*at)
            break;
        size_t length = strcspn(++at, "}");
        if (length == 5 && memcmp(at, "limit", 5) == 0)
            opf_text_printf(out, "%d", words->limit);
        else if (length == 5 && memcmp(at, "bytes", 5) == 0)
            opf_text_printf(out, "%lld", (long long)words->bytes);
        else
            opf_text_add(out, word(at, length, words));
        at += length + (at[length] == '}');
    }
}
