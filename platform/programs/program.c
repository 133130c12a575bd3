/* A kernel's declaration, read: sizes, inputs, arguments, comparison. */
#include "program.h"

#include "uniform.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const uint64_t per_program = UINT64_C(1) << 63, per_element = UINT64_C(1) << 62,
                      of_parameter = UINT64_C(1) << 61;

static bool is_word(const char *text) {
    size_t length = 0;
    for (; text && text[length]; length++)
        if (!isalnum((unsigned char)text[length]) && text[length] != '_') return false;
    return length > 0 && length < 64;
}

static uint64_t most_of(const tl_kernel_parameter *parameter) {
    return parameter->most ? parameter->most : UINT32_MAX;
}

static tla_status validate_parameters(const tl_kernel_info *kernel, tla_error *error) {
    for (uint32_t i = 0; i < tl_kernel_parameter_count(kernel); i++) {
        const tl_kernel_parameter *parameter = &kernel->parameters[i];
        if (!is_word(parameter->name))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "the name of parameter %u must be 1 to 63 letters, digits and underscores", i);
        if (parameter->value < parameter->least || parameter->value > most_of(parameter))
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "parameter '%s': %llu is out of its range, %llu .. %llu",
                                 parameter->name, (unsigned long long)parameter->value,
                                 (unsigned long long)parameter->least, (unsigned long long)most_of(parameter));
    }
    return TLA_OK;
}

/* Whether every dimension that is a parameter is one that the kernel has, and of 1 on. */
static tla_status validate_dimensions(const tl_kernel_info *kernel, const tl_kernel_tensor *tensor, tla_error *error) {
    for (uint32_t axis = 0; axis < TL_RANK_MAX && tensor->shape[axis]; axis++) {
        const uint64_t number = tensor->shape[axis] & (of_parameter - 1);
        if (!(tensor->shape[axis] & of_parameter)) continue;
        if (number >= tl_kernel_parameter_count(kernel))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "tensor '%s': dimension %u is parameter %llu, but the kernel has %u parameters",
                                 tensor->name, axis, (unsigned long long)number, tl_kernel_parameter_count(kernel));
        if (kernel->parameters[number].least == 0)
            return tla_error_set(
                error, TLA_INVALID_ARGUMENT,
                "tensor '%s': dimension %u is parameter '%s', which may be 0: set its least to 1 or more", tensor->name,
                axis, kernel->parameters[number].name);
    }
    return TLA_OK;
}

static tla_status validate_tensor(const tl_kernel_tensor *tensor, tla_error *error) {
    if ((unsigned)tensor->dtype >= TL_DTYPE_COUNT || (unsigned)tensor->use >= TL_USE_COUNT ||
        (unsigned)tensor->spread >= TL_SPREAD_COUNT || (unsigned)tensor->memory >= TL_MEMORY_COUNT)
        return tla_error_set(
            error, TLA_INVALID_ARGUMENT,
            "tensor '%s': unknown type, use, spread or memory: use values of tl_dtype, tl_use, tl_spread and tl_memory",
            tensor->name);
    if ((tensor->shape[0] & ~(per_program | per_element)) == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "tensor '%s' has no shape: give it at least one dimension",
                             tensor->name);
    if (tensor->spread == TL_REPLICATED && tensor->use != TL_IN)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "tensor '%s' is replicated and written: the host could not tell which copy to read back; "
                             "use TL_IN or TL_SPLIT",
                             tensor->name);
    return TLA_OK;
}

tla_status tl_kernel_validate(const tl_kernel_info *kernel, tla_error *error) {
    if (kernel->calls_version != TL_CALLS_VERSION)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "the kernel was compiled for version %u of the call table, expected version %u: recompile "
                             "it with the headers of this tlmalloc",
                             kernel->calls_version, (unsigned)TL_CALLS_VERSION);
    if (kernel->calls_bytes > sizeof(tl_calls) || kernel->bytes > sizeof *kernel)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "the kernel was compiled for a later tlmalloc, whose call table has %u bytes, expected at "
                             "most %zu: recompile it with the headers of this tlmalloc",
                             kernel->calls_bytes, sizeof(tl_calls));
    if (!is_word(kernel->name))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "the kernel's name must be 1 to 63 letters, digits and underscores");
    if (!kernel->run) return tla_error_set(error, TLA_INVALID_ARGUMENT, "the kernel has no function: set .run");
    tla_status status = validate_parameters(kernel, error);
    const uint32_t tensors = tl_kernel_tensor_count(kernel), parameters = tl_kernel_parameter_count(kernel);
    for (uint32_t i = 0; !status && i < tensors; i++) {
        status = validate_tensor(&kernel->tensors[i], error);
        if (!status) status = validate_dimensions(kernel, &kernel->tensors[i], error);
    }
    if (status) return status;
    for (uint32_t i = 0; i < TL_KERNEL_ARGUMENTS_MAX && kernel->arguments[i].kind != TL_ARGUMENT_NONE; i++) {
        const tl_kernel_argument *argument = &kernel->arguments[i];
        if (argument->kind == TL_ARGUMENT_PARAMETER && argument->value >= parameters)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "argument %u is parameter %llu, but the kernel has %u parameters", i,
                                 (unsigned long long)argument->value, parameters);
        if ((unsigned)argument->kind >= TL_ARGUMENT_KIND_COUNT ||
            (argument->kind < TL_ARGUMENT_NUMBER && argument->value >= tensors))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "argument %u is tensor %llu, but the kernel has %u tensors", i,
                                 (unsigned long long)argument->value, tensors);
    }
    return TLA_OK;
}

uint32_t tl_kernel_parameter_count(const tl_kernel_info *kernel) {
    uint32_t count = 0;
    while (count < TL_KERNEL_PARAMETERS_MAX && kernel->parameters[count].name)
        count++;
    return count;
}

tl_workload tl_kernel_workload(const tl_kernel_info *kernel, uint32_t programs, uint64_t elements_per_pe,
                               uint64_t seed) {
    tl_workload workload = {.programs = programs, .elements_per_pe = elements_per_pe, .seed = seed};
    for (uint32_t i = 0; i < tl_kernel_parameter_count(kernel); i++)
        workload.parameters[i] = kernel->parameters[i].value;
    return workload;
}

/* Lists the parameters, " m, n and k", or reports that the kernel has none. */
static tla_status no_parameter(const tl_kernel_info *kernel, const char *text, tla_error *error) {
    char names[TL_KERNEL_PARAMETERS_MAX * 66] = "";
    const uint32_t count = tl_kernel_parameter_count(kernel);
    for (uint32_t i = 0; i < count; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s",
                 i == 0          ? ""
                 : i + 1 < count ? ", "
                                 : " or ",
                 kernel->parameters[i].name);
    }
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "found '%s', expected NAME=VALUE with a parameter of %s: %s",
                         text, kernel->name, count ? names : "it has no parameters");
}

tla_status tl_kernel_set_parameter(const tl_kernel_info *kernel, const char *text, tl_workload *workload,
                                   tla_error *error) {
    const char *value = strchr(text, '=');
    const size_t length = value ? (size_t)(value - text) : 0;
    uint32_t i = 0;
    while (i < tl_kernel_parameter_count(kernel) &&
           (strlen(kernel->parameters[i].name) != length || memcmp(kernel->parameters[i].name, text, length) != 0))
        i++;
    if (!value || i == tl_kernel_parameter_count(kernel)) return no_parameter(kernel, text, error);
    const tl_kernel_parameter *parameter = &kernel->parameters[i];
    const char *at = value + 1;
    uint64_t number = 0;
    bool good = *at != 0;
    for (; good && *at; at++)
        good = isdigit((unsigned char)*at) && !__builtin_mul_overflow(number, UINT64_C(10), &number) &&
               !__builtin_add_overflow(number, (uint64_t)(*at - '0'), &number);
    if (!good || number < parameter->least || number > most_of(parameter))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "parameter '%s' of %s: found '%s', expected %llu .. %llu",
                             parameter->name, kernel->name, value + 1, (unsigned long long)parameter->least,
                             (unsigned long long)most_of(parameter));
    workload->parameters[i] = number;
    return TLA_OK;
}

uint32_t tl_kernel_tensor_count(const tl_kernel_info *kernel) {
    uint32_t count = 0;
    while (count < TL_KERNEL_TENSORS_MAX && kernel->tensors[count].name)
        count++;
    return count;
}

uint32_t tl_kernel_uses(const tl_kernel_info *kernel) {
    uint32_t uses = kernel->uses;
    for (uint32_t i = 0; kernel->uses && i < tl_kernel_tensor_count(kernel); i++) {
        const tl_kernel_tensor *tensor = &kernel->tensors[i];
        if (tensor->memory == TL_SRAM) uses |= TL_USES_SRAM;
        if (tensor->memory == TL_HOST) uses |= TL_USES_HOST_MEMORY;
        for (uint32_t axis = 0; axis < TL_RANK_MAX && tensor->shape[axis]; axis++)
            if (tensor->shape[axis] & per_element) uses |= TL_USES_ELEMENTS;
    }
    return uses;
}

uint64_t tl_kernel_elements(const tl_kernel_info *kernel, const tl_workload *workload, uint32_t tensor) {
    const uint64_t *shape = kernel->tensors[tensor].shape;
    uint64_t elements = 1;
    for (uint32_t axis = 0; axis < TL_RANK_MAX && shape[axis]; axis++) {
        const uint64_t number = shape[axis] & (of_parameter - 1);
        const uint64_t factors[] = {shape[axis] & of_parameter ? workload->parameters[number] : number,
                                    shape[axis] & per_program ? workload->programs : 1,
                                    shape[axis] & per_element ? workload->elements_per_pe : 1};
        for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
            if (__builtin_mul_overflow(elements, factors[i], &elements) || elements > per_element) return UINT64_MAX;
    }
    return elements;
}

uint64_t tl_kernel_tensor_bytes(const tl_kernel_info *kernel, const tl_workload *workload, uint32_t tensor) {
    uint64_t bytes = tl_kernel_elements(kernel, workload, tensor);
    if (__builtin_mul_overflow(bytes, tl_dtype_bytes(kernel->tensors[tensor].dtype), &bytes) || bytes > per_element)
        return UINT64_MAX;
    return bytes;
}

bool tl_kernel_goes_in(const tl_kernel_info *kernel, uint32_t tensor) {
    return kernel->tensors[tensor].use != TL_OUT;
}

bool tl_kernel_comes_out(const tl_kernel_info *kernel, uint32_t tensor) {
    return kernel->tensors[tensor].use != TL_IN;
}

uint32_t tl_kernel_arguments(const tl_kernel_info *kernel, const tl_workload *workload, const tla_vaddr *tensors,
                             uint64_t arguments[TL_KERNEL_ARGUMENTS_MAX]) {
    uint32_t count = 0;
    for (; count < TL_KERNEL_ARGUMENTS_MAX && kernel->arguments[count].kind != TL_ARGUMENT_NONE; count++) {
        const tl_kernel_argument *argument = &kernel->arguments[count];
        arguments[count] = argument->value;
        if (argument->kind == TL_ARGUMENT_ADDRESS) arguments[count] = tensors[argument->value].value;
        if (argument->kind == TL_ARGUMENT_PARAMETER) arguments[count] = workload->parameters[argument->value];
        if (argument->kind == TL_ARGUMENT_ELEMENTS)
            arguments[count] = tl_kernel_elements(kernel, workload, (uint32_t)argument->value);
    }
    return count;
}

void tl_kernel_fill(const tl_kernel_info *kernel, const tl_workload *workload, uint32_t tensor, void *bytes) {
    const tl_kernel_tensor *what = &kernel->tensors[tensor];
    if (what->fill)
        what->fill(workload, bytes);
    else
        tl_fill_uniform(bytes, what->dtype, tl_kernel_elements(kernel, workload, tensor), workload->seed, tensor);
}

bool tl_kernel_can_verify(const tl_kernel_info *kernel) {
    bool can = kernel->check != NULL;
    for (uint32_t i = 0; i < tl_kernel_tensor_count(kernel); i++)
        can = can || (kernel->tensors[i].use == TL_OUT && kernel->tensors[i].file);
    return can;
}

/* The bytes of an element as a number in hexadecimal. */
static unsigned long long bits_of(const uint8_t *bytes, uint32_t count) {
    unsigned long long bits = 0;
    while (count-- > 0)
        bits = bits << 8 | bytes[count];
    return bits;
}

static tla_status compare_with_file(const tl_kernel_tensor *tensor, uint64_t nbytes, const uint8_t *found,
                                    const uint8_t *expected, tla_error *error) {
    const uint32_t size = tl_dtype_bytes(tensor->dtype);
    for (uint64_t at = 0; at < nbytes; at += size)
        if (memcmp(found + at, expected + at, size) != 0)
            return tla_error_set(error, TLA_WRONG_RESULT, "%s[%llu] is 0x%0*llx, expected 0x%0*llx as in %s",
                                 tensor->name, (unsigned long long)(at / size), 2 * (int)size,
                                 bits_of(found + at, size), 2 * (int)size, bits_of(expected + at, size), tensor->file);
    return TLA_OK;
}

tla_status tl_kernel_verify(const tl_kernel_info *kernel, const tl_workload *workload, const void *const *tensors,
                            const void *const *files, tla_error *error) {
    for (uint32_t i = 0; i < tl_kernel_tensor_count(kernel); i++) {
        if (kernel->tensors[i].use != TL_OUT || !files[i]) continue;
        tla_status status = compare_with_file(&kernel->tensors[i], tl_kernel_tensor_bytes(kernel, workload, i),
                                              tensors[i], files[i], error);
        if (status) return status;
    }
    return kernel->check ? kernel->check(workload, tensors, error) : TLA_OK;
}
