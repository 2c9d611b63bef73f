/* What a user may change about the rules: a rule file (`--rules FILE`, docs/fusion-rules.md) switches rules off and sets thresholds.
 *
 * A rule that joins nodes, switched off, joins none. A rule that refuses for reasons of price, switched off, refuses nothing.
 * Rules that say what is possible cannot be switched off. Numbers stay right whatever a file says. */
#ifndef OPF_FUSE_SETTINGS_H
#define OPF_FUSE_SETTINGS_H

#include "base/diag.h"
#include "fuse/rules.h"

typedef enum opf_threshold_number {
    OPF_THRESHOLD_ROW_BYTES, OPF_THRESHOLD_BLOCK_ROW_BYTES, OPF_THRESHOLD_ROWS, OPF_THRESHOLD_BLOCK_UNITS, OPF_THRESHOLD_FACTOR_BYTES,
    OPF_THRESHOLD_PROLOGUE_CHEAP, OPF_THRESHOLD_PROLOGUE_MODERATE, OPF_THRESHOLD_PROLOGUE_LOADS, OPF_THRESHOLD_COPY_READERS, OPF_THRESHOLD_COPY_PRICE,
    OPF_THRESHOLD_BAND_BYTES, OPF_THRESHOLD_EXPANDED_BYTES, OPF_THRESHOLD_GATE_ELEMENTS, OPF_THRESHOLD_PASSING_OPERANDS,
    OPF_THRESHOLD_COUNT
} opf_threshold_number;

typedef struct opf_threshold {
    const char *name;     /* RULE.WORD, as a rule file has it */
    opf_rule_number rule; /* that compares with it */
    const char *what;     /* what is compared, and in what unit */
    double value, least, most;
} opf_threshold;
extern const opf_threshold opf_thresholds[OPF_THRESHOLD_COUNT];

enum { OPF_MOST_COPY_READERS = 16 };

struct opf_rule_settings {
    const char *off[OPF_RULE_COUNT]; /* "FILE:LINE" that switches the rule off; NULL: it is on */
    bool any_off;
    double thresholds[OPF_THRESHOLD_COUNT];
};

/* Is it a rule that a file may switch off? */
bool opf_rule_is_switch(opf_rule_number rule);
/* What comes of it: "joins nothing", "refuses nothing". */
const char *opf_rule_switched(opf_rule_number rule);

void opf_rule_settings_init(opf_rule_settings *settings); /* all on, all thresholds as the table has them */
/* Lines `off RULE` and `set THRESHOLD = NUMBER`, `#` begins a comment; a number may have KiB or MiB behind it. Later lines win. All
 * of the text is taken, or nothing: mistakes are reported ("rules", with line), OPF_ERROR_INPUT. Texts go into the arena. */
opf_status opf_rule_settings_read(opf_rule_settings *settings, const char *text, const char *source, opf_arena *arena, opf_diags *diags);

static inline bool opf_rule_is_off(const opf_rule_settings *settings, opf_rule_number rule) { return settings->off[rule] != NULL; }
static inline double opf_threshold_of(const opf_rule_settings *settings, opf_threshold_number number) { return settings->thresholds[number]; }

#endif
