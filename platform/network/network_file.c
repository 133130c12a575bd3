/* Reads a network: the file's contents are kept as written, and made into tensors and ops at the end, so that the keys
 * may have any order. */
#include "model/base/grow.h"
#include "network/network.h"

#include "model/base/suggest.h"
#include "model/config/loader.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = NETWORK_OP_TENSORS_MAX * NETWORK_NAME_MAX };

/* A text as it is written; line 0: it is not. */
typedef struct said {
    char text[TEXT_MAX];
    tla_place at;
} said;

typedef struct said_pair {
    said name, size;
} said_pair;

enum { OP_NAME, OP_INPUTS, OP_RESHAPE, OP_OUTPUTS, OP_KEYS };
enum { FILE_NAME, FILE_INPUTS, FILE_OPS, FILE_OUTPUTS, FILE_KEYS };

typedef struct said_op {
    tla_place at;
    said texts[OP_KEYS];
    said_pair outputs[NETWORK_OP_TENSORS_MAX];
    size_t output_count;
} said_op;

typedef struct reading {
    tla_loader *loader;
    network *made;
    said texts[FILE_KEYS];
    said_pair *inputs;
    said_op *ops, *op; /* and the one that is being read; NULL: there was no memory for it */
    tla_place *places; /* of the tensors made */
    size_t input_count, op_count;
    tla_config_report report;
    void *context;
} reading;

static reading *reading_of(tla_loader *loader) {
    return loader->context;
}

static void report_own(void *context, const tla_config_finding *finding) {
    const reading *r = context;
    if (r->report) r->report(r->context, finding);
}

/* One element more at the end of an array, all zero; NULL, and noted, without memory. */
static void *grow(tla_loader *loader, void *array, size_t count, size_t bytes) {
    if (!tla_grow_by_one(&array, count, bytes)) {
        loader->no_memory = true;
        return NULL;
    }
    memset((char *)array + count * bytes, 0, bytes);
    return array;
}

/* ---- the contents as written ---- */

static void keep(tla_loader *loader, const char *key, const tla_written *value, said *into) {
    if (strlen(value->text) >= TEXT_MAX)
        tla_loader_find(loader, value->at, "%s: found a text of %zu characters, expected at most %d", key,
                        strlen(value->text), TEXT_MAX - 1);
    else
        strcpy(into->text, value->text);
    into->at = value->at;
}

static void take_text(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    keep(loader, name->text, value, &reading_of(loader)->texts[key]);
}

static void take_input(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    (void)key;
    reading *r = reading_of(loader);
    said_pair *grown = grow(loader, r->inputs, r->input_count, sizeof *grown);
    if (!grown) return;
    r->inputs = grown;
    keep(loader, "inputs", name, &grown[r->input_count].name);
    keep(loader, name->text, value, &grown[r->input_count++].size);
}

static void begin_op(tla_loader *loader, size_t key, const tla_written *name, const tla_written *row) {
    (void)key, (void)name;
    reading *r = reading_of(loader);
    said_op *grown = grow(loader, r->ops, r->op_count, sizeof *grown);
    r->op = NULL;
    if (!grown) return;
    r->ops = grown;
    r->op = &grown[r->op_count++];
    r->op->at = row->at;
}

static void take_op_text(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    said_op *op = reading_of(loader)->op;
    if (op) keep(loader, name->text, value, &op->texts[key]);
}

static void take_output(tla_loader *loader, size_t key, const tla_written *name, const tla_written *value) {
    (void)key;
    said_op *op = reading_of(loader)->op;
    if (!op) return;
    if (op->output_count == NETWORK_OP_TENSORS_MAX - 1) {
        tla_loader_find(loader, name->at, "outputs: found more than the limit of %d", NETWORK_OP_TENSORS_MAX - 1);
        return;
    }
    said_pair *output = &op->outputs[op->output_count++];
    keep(loader, "outputs", name, &output->name);
    keep(loader, name->text, value, &output->size);
}

static void op_is_read(tla_loader *loader) {
    (void)loader; /* checked at the end of the file */
}

/* ---- tensors ---- */

static size_t find_tensor(const network *n, const char *name) {
    size_t i = 0;
    while (i < n->tensor_count && strcmp(n->tensors[i].name, name))
        i++;
    return i;
}

/* A new tensor of this name, not made by an op; NULL and a finding where it cannot be. */
static network_tensor *declare(reading *r, const said *name) {
    network *n = r->made;
    const size_t found = find_tensor(n, name->text);
    if (found < n->tensor_count) {
        tla_loader_find(r->loader, name->at, "found the tensor %s again, expected it once (line %zu)",
                        tla_quote(name->text).text, r->places[found].line);
        return NULL;
    }
    if (strlen(name->text) >= NETWORK_NAME_MAX || strchr(name->text, ' ') || n->tensor_count == NETWORK_TENSORS_MAX) {
        tla_loader_find(
            r->loader, name->at,
            "found the tensor %s, expected a name without spaces of at most %d characters, and at most %d tensors",
            tla_quote(name->text).text, NETWORK_NAME_MAX - 1, NETWORK_TENSORS_MAX);
        return NULL;
    }
    network_tensor *tensors = grow(r->loader, n->tensors, n->tensor_count, sizeof *tensors);
    if (tensors) n->tensors = tensors;
    tla_place *places = grow(r->loader, r->places, n->tensor_count, sizeof *places);
    if (places) r->places = places;
    if (!tensors || !places) return NULL;
    places[n->tensor_count] = name->at;
    network_tensor *made = &tensors[n->tensor_count];
    strcpy(made->name, name->text);
    made->bytes_of = n->tensor_count++;
    return made;
}

static void read_size(reading *r, const said_pair *pair, network_tensor *tensor) {
    const uint64_t most = UINT64_C(1) << 40;
    tla_error error;
    if (tla_number_parse(TLA_VALUE_SIZE, pair->size.text, &tensor->nbytes, &error))
        tla_loader_find(r->loader, pair->size.at, "%s: %s", tensor->name, error.text);
    else if (tensor->nbytes == 0 || tensor->nbytes > most || tensor->nbytes % NETWORK_WORD_BYTES)
        tla_loader_find(r->loader, pair->size.at, "%s: found %s, expected a multiple of %d B up to 1 TiB", tensor->name,
                        tla_quote(pair->size.text).text, NETWORK_WORD_BYTES);
}

/* Calls `use` for every tensor that a text names; an unknown name is a finding. */
static void each_name(reading *r, const char *key, const said *names, size_t op,
                      void (*use)(reading *, size_t, size_t)) {
    char text[TEXT_MAX], *rest = text;
    strcpy(text, names->text);
    for (char *name; (name = strtok_r(rest, " ", &rest));) {
        const network *n = r->made;
        const size_t tensor = find_tensor(n, name);
        if (tensor < n->tensor_count) {
            use(r, op, tensor);
            continue;
        }
        tla_nearest nearest = tla_nearest_to(name);
        for (size_t i = 0; i < n->tensor_count; i++)
            tla_nearest_try(&nearest, n->tensors[i].name, strlen(n->tensors[i].name));
        tla_loader_find(r->loader, names->at, "%s: found %s, expected inputs, or outputs of earlier ops%s%s%s", key,
                        tla_quote(name).text, nearest.found ? ", did you mean \"" : "",
                        nearest.found ? nearest.name.text : "", nearest.found ? "\"?" : "");
    }
}

static void lives_until(network *n, size_t tensor, size_t end) {
    network_tensor *t = &n->tensors[n->tensors[tensor].bytes_of];
    if (t->end < end) t->end = end;
}

/* ---- ops ---- */

static void use_input(reading *r, size_t op, size_t tensor) {
    network *n = r->made;
    network_op *o = &n->ops[op];
    n->tensors[tensor].users++;
    lives_until(n, tensor, op + 1);
    if (o->input_count < NETWORK_OP_TENSORS_MAX) o->tensors[o->input_count] = tensor;
    o->input_count++;
}

static network_tensor *add_output(reading *r, size_t op, const said *name) {
    network *n = r->made;
    network_op *o = &n->ops[op];
    network_tensor *t = declare(r, name);
    if (!t) return NULL;
    t->made_at = op;
    t->end = op + 1;
    o->tensors[o->input_count + o->output_count++] = n->tensor_count - 1;
    return t;
}

static void add_reshape(reading *r, size_t op, const said_op *row) {
    network *n = r->made;
    network_op *o = &n->ops[op];
    o->reshape = true;
    const bool fits = o->input_count == 1 && !n->tensors[o->tensors[0]].is_input && !row->output_count;
    const size_t of = o->tensors[0];
    if (!fits)
        tla_loader_find(r->loader, row->texts[OP_RESHAPE].at,
                        "reshape needs exactly one input, the output of an op, and no outputs");
    network_tensor *t = add_output(r, op, &row->texts[OP_RESHAPE]);
    if (!t || !fits) return;
    t->nbytes = n->tensors[of].nbytes;
    t->bytes_of = n->tensors[of].bytes_of;
}

/* The outputs of an op with a finding are declared all the same: the ops that read them are right. */
static void add_op(reading *r, const said_op *row) {
    network *n = r->made;
    network_op *grown = grow(r->loader, n->ops, n->op_count, sizeof *grown);
    if (!grown) return;
    n->ops = grown;
    const size_t op = n->op_count++, findings = r->loader->findings;
    const char *name = row->texts[OP_NAME].text;
    const char *inputs = row->texts[OP_INPUTS].text;
    if (!*name || strlen(name) >= NETWORK_NAME_MAX || !inputs[strspn(inputs, " ")])
        tla_loader_find(r->loader, row->at, "an op needs a name of at most %d characters, and inputs",
                        NETWORK_NAME_MAX - 1);
    else
        strcpy(grown[op].name, name);
    each_name(r, "inputs", &row->texts[OP_INPUTS], op, use_input);
    const bool reshapes = row->texts[OP_RESHAPE].at.line;
    const size_t tensors = grown[op].input_count + row->output_count + reshapes;
    if (tensors > NETWORK_OP_TENSORS_MAX)
        tla_loader_find(r->loader, row->at, "op %s: found %zu inputs and outputs, expected at most %d",
                        tla_quote(name).text, tensors, NETWORK_OP_TENSORS_MAX);
    if (!reshapes && row->output_count == 0)
        tla_loader_find(r->loader, row->at, "op %s has no outputs", tla_quote(name).text);
    if (r->loader->findings > findings) grown[op].input_count = 0; /* its tensors have room for the outputs */
    if (reshapes && r->loader->findings > findings)
        add_output(r, op, &row->texts[OP_RESHAPE]);
    else if (reshapes)
        add_reshape(r, op, row);
    for (size_t i = 0; i < row->output_count && !reshapes; i++) {
        network_tensor *t = add_output(r, op, &row->outputs[i].name);
        if (t) read_size(r, &row->outputs[i], t);
    }
}

static void use_output(reading *r, size_t op, size_t tensor) {
    (void)op;
    network *n = r->made;
    n->tensors[tensor].is_output = true;
    lives_until(n, tensor, n->op_count);
}

/* ---- the file ---- */

static void make(tla_loader *loader) {
    reading *r = reading_of(loader);
    network *n = r->made;
    r->loader = loader;
    if (loader->incomplete || loader->findings || loader->no_memory) return;
    const tla_place file = {loader->file, 1, 1};
    const said *name = &r->texts[FILE_NAME], *outputs = &r->texts[FILE_OUTPUTS];
    if (!*name->text || strlen(name->text) >= NETWORK_NAME_MAX || !r->op_count || !*outputs->text) {
        tla_loader_find(loader, file, "a network needs a name of at most %d characters, ops and outputs",
                        NETWORK_NAME_MAX - 1);
        return;
    }
    strcpy(n->name, name->text);
    for (size_t i = 0; i < r->input_count && !loader->no_memory; i++) {
        network_tensor *t = declare(r, &r->inputs[i].name);
        if (!t) continue;
        t->is_input = true;
        read_size(r, &r->inputs[i], t);
    }
    for (size_t i = 0; i < r->op_count && !loader->no_memory; i++)
        add_op(r, &r->ops[i]);
    if (loader->findings || loader->no_memory) return; /* a value that is missing below may have been rejected above */
    each_name(r, "outputs", outputs, 0, use_output);
    if (loader->findings) return;
    for (size_t i = 0; i < n->tensor_count; i++)
        if (!n->tensors[i].users && !n->tensors[i].is_output)
            tla_loader_find(loader, r->places[i], "no op reads the tensor %s: remove it, or list it in outputs",
                            tla_quote(n->tensors[i].name).text);
}

#define TEXT(name, taker)                                                                                              \
    { .key = name, .form = {.type = TLA_VALUE_ANY}, .take = taker }
#define PAIRS(name, taker)                                                                                             \
    { .key = name, .form = {.type = TLA_VALUE_PAIRS}, .take = taker }

static const tla_schema_key op_keys[OP_KEYS] = {[OP_NAME] = TEXT("name", take_op_text),
                                                [OP_INPUTS] = TEXT("inputs", take_op_text),
                                                [OP_RESHAPE] = TEXT("reshape", take_op_text),
                                                [OP_OUTPUTS] = PAIRS("outputs", take_output)};
static const tla_schema op_schema = {op_keys, OP_KEYS, sizeof(int), NULL, op_is_read};

static const tla_schema_key file_keys[FILE_KEYS] = {
    [FILE_NAME] = TEXT("name", take_text),
    [FILE_INPUTS] = PAIRS("inputs", take_input),
    [FILE_OPS] = {.key = "ops", .form = {.type = TLA_VALUE_ROWS}, .take = begin_op, .rows = &op_schema},
    [FILE_OUTPUTS] = TEXT("outputs", take_text)};
static const tla_schema file_schema = {file_keys, FILE_KEYS, sizeof(int), NULL, make};

tla_status network_load(const char *path, network *made, tla_config_report report, void *context) {
    *made = (network){0};
    reading r = {.made = made, .report = report, .context = context};
    int unused; /* nothing is stored by a schema here: everything is taken */
    const tla_status status = tla_loader_load(&file_schema, path, NULL, 0, NULL, &unused, report_own, &r);
    free(r.inputs);
    free(r.ops);
    free(r.places);
    if (status) network_clear(made);
    return status;
}

void network_clear(network *n) {
    free(n->tensors);
    free(n->ops);
    *n = (network){0};
}
