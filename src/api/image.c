/* What an image depends on, as one hash. */
#include "api/image.h"

#include "base/build_id.h"
#include "run/toolchain.h"

/* A model's pages need not all be in memory at once. */
static opf_hash hash_files(const opf_model *model, const opf_module *module) {
    opf_hash key = {0, 0};
    if (model->source.data) key = opf_hash_large(model->source.data, model->source.size, OPF_PAGES_OF_MEMORY, opf_cores());
    for (size_t i = model->source.data ? 1 : 0; i < module->files.count; i++)
        key = opf_hash_combine(key, opf_hash_large(module->files.data[i].data, module->files.data[i].size, OPF_PAGES_RELEASED, opf_cores()));
    return key;
}

static void print_options(const opf_session *session, opf_text *out) {
    const opf_options *options = &session->model->context->options;
    opf_text_printf(out, "policy %d accuracy %d depth %d\n", (int)session->pipeline.policy, (int)options->accuracy, options->max_depth);
    if (options->wide_sums.all) opf_text_add(out, "all sums in float64\n");
    for (size_t i = 0; i < options->wide_sums.nodes.count; i++) opf_text_printf(out, "sums in float64 '%s'\n", options->wide_sums.nodes.data[i]);
    for (int rule = 0; rule < OPF_RULE_COUNT; rule++)
        if (options->rules.off[rule]) opf_text_printf(out, "off %d\n", rule);
    for (int number = 0; number < OPF_THRESHOLD_COUNT; number++) opf_text_printf(out, "threshold %a\n", options->rules.thresholds[number]);
    for (size_t i = 0; i < options->pins.count; i++) {
        const opf_pin *pin = &options->pins.data[i];
        opf_text_printf(out, "pin '%s' '%s' %d %lld %d\n", pin->symbol ? pin->symbol : "", pin->input ? pin->input : "", pin->axis, (long long)pin->size,
                        pin->nominal_only);
    }
}

static void print_machine(const opf_machine *m, opf_text *out) {
    opf_text_printf(out, "machine '%s' '%s' %d %d %d %lld %lld %lld", m->name, m->flags, m->lanes, m->vectors, m->products, (long long)m->l1_bytes, (long long)m->l2_bytes,
                    (long long)m->l3_bytes);
    opf_text_printf(out, " %a %a %a %a %a\n", m->flops_per_second, m->l1_bandwidth, m->l2_bandwidth, m->l3_bandwidth, m->dram_bandwidth);
}

/* Schedules of the database; false where it cannot be told, or where somebody wants to hear what is used. */
static bool print_schedules(const opf_session *session, opf_arena *arena, opf_text *out) {
    opf_catalog_options options = opf_pipeline_catalog(session->model->context, arena);
    size_t before = out->length;
    return opf_catalog_stamp(&options, out) && (out->length == before || !session->model->context->options.verbose);
}

/* Machine and compiler; false where one of them is not to be had: the pipeline says so. */
static bool print_target(const opf_session *session, opf_arena *arena, opf_text *out) {
    opf_context *context = session->model->context;
    opf_compile_options options = opf_context_compile_options(context);
    opf_machine machine;
    opf_toolchain toolchain;
    opf_diags *quiet = opf_diags_new();
    bool good = opf_machine_choose(&machine, context->options.machine, arena, quiet) == OPF_OK && !opf_machine_is_foreign(&machine) &&
                opf_toolchain_find(&toolchain, &machine, &options, arena, quiet) == OPF_OK;
    if (good) {
        print_machine(&machine, out);
        opf_text_add(out, toolchain.command);
    }
    opf_diags_free(quiet);
    return good;
}

static opf_hash hash_values(const opf_model *model) {
    opf_hash key = {0, 0};
    for (size_t i = 0; model->values && i < model->n_inputs; i++) {
        const opf_tensor *value = model->values[i];
        if (!value) continue;
        key = opf_hash_combine(key, opf_hash_bytes(&i, sizeof i));
        key = opf_hash_combine(key, opf_hash_bytes(value->dims, (size_t)value->rank * sizeof *value->dims));
        key = opf_hash_combine(key, opf_hash_bytes(value->data, value->bytes));
    }
    return key;
}

/* Operators, patterns with their kernels, and groups that the user gives. False: the file of groups cannot be read; the pipeline says so. */
static bool print_own(const opf_session *session, opf_text *out) {
    const opf_context *context = session->model->context;
    opf_text_printf(out, "operators %s\n", opf_hash_print(opf_user_ops_key(context->operators)).text);
    opf_text_printf(out, "patterns %s\n", opf_hash_print(context->patterns->key).text);
    if (!context->options.groups_file) return true;
    opf_diags *quiet = opf_diags_new();
    opf_mapping file = {0};
    bool good = opf_file_map(&file, context->options.groups_file, quiet) == OPF_OK;
    if (good) opf_text_printf(out, "groups '%s' %s\n", context->options.groups_file, opf_hash_print(opf_hash_bytes(file.data, file.size)).text);
    opf_file_unmap(&file);
    opf_diags_free(quiet);
    return good;
}

static bool is_eligible(const opf_session *session) {
    const opf_context *context = session->model->context;
    const opf_options *options = &context->options;
    for (size_t i = 0; session->model->values && i < session->model->n_inputs; i++)
        if (session->model->values[i] && session->model->values[i]->dtype == OPF_STRING) return false; /* addresses */
    return !options->dump_after && !options->stop_after && !options->time_passes && !context->on_fusion;
}

bool opf_session_image_key(opf_hash *out, const opf_session *session, const opf_module *module) {
    opf_arena *arena = opf_arena_new();
    opf_text text = {0};
    bool good = is_eligible(session) && opf_build_id(out) && print_target(session, arena, &text) && print_schedules(session, arena, &text) &&
                print_own(session, &text);
    if (good) {
        print_options(session, &text);
        *out = opf_hash_combine(*out, opf_hash_bytes(opf_text_string(&text), text.length));
        *out = opf_hash_combine(*out, hash_values(session->model));
        *out = opf_hash_combine(*out, hash_files(session->model, module));
    }
    opf_text_free(&text);
    opf_arena_free(arena);
    return good;
}

opf_hash opf_session_types(const opf_session *session) {
    opf_text text = {0};
    for (size_t i = 0; i < session->graph->inputs.count; i++) {
        opf_value_print_type(session->graph->inputs.data[i], &text);
        opf_text_add(&text, "\n");
    }
    for (size_t i = 0; i < session->n_outputs; i++) {
        opf_value_print_type(session->results[i], &text);
        opf_text_add(&text, "\n");
    }
    opf_hash hash = opf_hash_bytes(opf_text_string(&text), text.length);
    opf_text_free(&text);
    return hash;
}
