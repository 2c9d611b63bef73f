/* What the tuner has found, for people. */
#include "tune/search.h"

enum { MOST_SHOWN = 40 };

/* Choices in which the two differ; sizes that follow from others count, too. */
static void print_difference(const opf_schedule *best, const opf_schedule *usual, opf_text *out) {
    opf_schedule changed = {0};
    for (int k = 0; k < OPF_KNOBS; k++)
        if (best->at[k] != usual->at[k]) changed.at[k] = best->at[k];
    opf_schedule_print(&changed, "=", " ", out);
}

static void print_finding(const opf_finding *f, opf_text *out) {
    const opf_tunable *t = f->tunable;
    double base = t->milliseconds / t->calls;
    opf_text_printf(out, "%9.3f  %5d  %9.4f  ", t->milliseconds, t->calls, base);
    if (f->ratio < 1) opf_text_printf(out, "%9.4f  %5.2f", base * f->ratio, 1 / f->ratio);
    else opf_text_printf(out, "%9s  %5s", "-", "-");
    opf_text_printf(out, "  %5d  %s (%s)\n", f->tried + f->known, t->first, t->operators);
    if (f->ratio < 1) {
        opf_text_add(out, "           ");
        print_difference(&f->best, &t->nest->chosen, out);
        opf_text_add(out, "\n");
    }
    if (f->wrong) opf_text_printf(out, "           %d candidates gave numbers beyond the bound and were left out\n", f->wrong);
    if (f->failed) opf_text_printf(out, "           %d candidates were not compiled, crashed or took too long\n", f->failed);
}

void opf_findings_print(const opf_findings *findings, opf_text *out) {
    double before = 0, after = 0;
    size_t better = 0, searched = 0;
    opf_text_add(out, "   ms a run  calls    default       best   gain  tried  kernel\n");
    for (size_t i = 0; i < findings->list.count; i++) {
        const opf_finding *f = &findings->list.data[i];
        before += f->tunable->milliseconds;
        after += f->tunable->milliseconds * f->ratio;
        better += f->ratio < 1;
        searched += f->searched;
        if (i < MOST_SHOWN || f->ratio < 1) print_finding(f, out);
    }
    opf_text_printf(out, "%zu of %zu kernels looked at in %.0f s%s, %zu with a better schedule; kernels of a run: %.3f ms by the heuristic, %.3f ms expected\n", searched, findings->list.count,
                    findings->seconds, findings->stopped ? " (interrupted)" : "", better, before, after);
}
