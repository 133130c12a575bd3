/* Looks for writable static variables in an ELF object. */
#include "object_check.h"

#include "model/base/phrase.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECT_BYTES_MAX = 256 << 20 };

typedef struct object {
    uint8_t *bytes;
    size_t length;
    const Elf64_Shdr *sections;
    size_t section_count;
    const char *names; /* of the sections */
    size_t names_length;
} object;

static tla_status read_whole(const char *path, object *read, tla_error *error) {
    FILE *file = fopen(path, "rb");
    if (!file) return tla_error_set(error, TLA_IO, "%s: %s", path, tla_cannot_read(errno).text);
    tla_status status = TLA_OK;
    size_t capacity = 0, got = 1;
    while (!status && got) {
        if (read->length == capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            uint8_t *larger = capacity <= OBJECT_BYTES_MAX ? realloc(read->bytes, capacity) : NULL;
            if (!larger) {
                status = capacity > OBJECT_BYTES_MAX
                             ? tla_error_set(error, TLA_LIMIT, "%s: larger than the limit of %d bytes for an object",
                                             path, OBJECT_BYTES_MAX)
                             : tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", path);
                break;
            }
            read->bytes = larger;
        }
        got = fread(read->bytes + read->length, 1, capacity - read->length, file);
        read->length += got;
    }
    if (!status && ferror(file)) status = tla_error_set(error, TLA_IO, "%s: %s", path, tla_cannot_read(errno).text);
    fclose(file);
    return status;
}

static bool inside(const object *o, uint64_t offset, uint64_t nbytes) {
    return offset <= o->length && nbytes <= o->length - offset;
}

/* A text that ends inside its table; "" when it does not. */
static const char *text_at(const char *table, size_t length, size_t offset) {
    return offset < length && memchr(table + offset, 0, length - offset) ? table + offset : "";
}

static bool find_sections(object *o) {
    const unsigned char expected[] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB};
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)o->bytes;
    if (o->length < sizeof *header || memcmp(o->bytes, expected, sizeof expected) != 0) return false;
    if ((header->e_type != ET_REL && header->e_type != ET_DYN) || header->e_shentsize != sizeof(Elf64_Shdr))
        return false;
    if (header->e_shoff % 8 || !inside(o, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
        return false;
    o->sections = (const Elf64_Shdr *)(const void *)(o->bytes + header->e_shoff);
    o->section_count = header->e_shnum;
    if (header->e_shstrndx >= o->section_count) return false;
    const Elf64_Shdr *names = &o->sections[header->e_shstrndx];
    if (!inside(o, names->sh_offset, names->sh_size)) return false;
    o->names = (const char *)o->bytes + names->sh_offset;
    o->names_length = names->sh_size;
    return true;
}

/* Whether a section holds variables that a program writes. */
static bool is_writable_data(const object *o, size_t section) {
    static const char *const closed[] = {".data.rel.ro",    ".dynamic",       ".got",     ".init_array",
                                         ".fini_array",     ".preinit_array", ".ctors",   ".dtors",
                                         ".tm_clone_table", ".jcr",           ".eh_frame"};
    const Elf64_Shdr *s = &o->sections[section];
    if ((s->sh_flags & (SHF_WRITE | SHF_ALLOC)) != (SHF_WRITE | SHF_ALLOC) || s->sh_size == 0) return false;
    const char *name = text_at(o->names, o->names_length, s->sh_name);
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (strncmp(name, closed[i], strlen(closed[i])) == 0) return false;
    return true;
}

/* Returns whether the name belongs to the compiler's start files, which every shared object has. */
static bool is_of_start_files(const char *name) {
    return strncmp(name, "completed.", 10) == 0 || strcmp(name, "__dso_handle") == 0 ||
           strcmp(name, "__TMC_END__") == 0;
}

static tla_status check_symbols(const object *o, const Elf64_Shdr *table, const char *path, tla_error *error) {
    if (table->sh_link >= o->section_count || table->sh_offset % 8 || !inside(o, table->sh_offset, table->sh_size))
        return tla_error_set(error, TLA_SYNTAX, "%s: the symbol table is damaged: compile the kernel again", path);
    const Elf64_Shdr *strings = &o->sections[table->sh_link];
    if (!inside(o, strings->sh_offset, strings->sh_size))
        return tla_error_set(error, TLA_SYNTAX, "%s: the string table is damaged: compile the kernel again", path);
    const Elf64_Sym *symbols = (const Elf64_Sym *)(const void *)(o->bytes + table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const unsigned type = ELF64_ST_TYPE(symbols[i].st_info);
        if (type != STT_OBJECT && type != STT_TLS && type != STT_COMMON) continue;
        const char *name = text_at((const char *)o->bytes + strings->sh_offset, strings->sh_size, symbols[i].st_name);
        const uint16_t section = symbols[i].st_shndx;
        const bool writable = section == SHN_COMMON || (section < o->section_count && is_writable_data(o, section));
        if (!writable || is_of_start_files(name)) continue;
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "%s: the static variable '%.*s' of %llu bytes is writable, and all PEs would share it, as "
                             "they run in one process: make it const or local",
                             path, (int)strcspn(name, "."), name, (unsigned long long)symbols[i].st_size);
    }
    return TLA_OK;
}

static tla_status check_object(object *o, const char *path, tla_error *error) {
    if (!find_sections(o)) return tla_error_set(error, TLA_SYNTAX, "%s: expected an ELF object of this machine", path);
    const bool relocatable = ((const Elf64_Ehdr *)(const void *)o->bytes)->e_type == ET_REL;
    bool symbols = false, writable = false;
    for (size_t i = 0; i < o->section_count; i++) {
        writable = writable || is_writable_data(o, i);
        if (o->sections[i].sh_type != SHT_SYMTAB) continue;
        tla_status status = check_symbols(o, &o->sections[i], path, error);
        if (status) return status;
        symbols = true;
    }
    if (writable && relocatable)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "%s: unnamed static data are writable: use constants and local variables only", path);
    if (writable && !symbols)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "%s: the object has writable data and no symbols: pass an object that is not stripped, so "
                             "that its static variables can be checked",
                             path);
    return TLA_OK;
}

tla_status tl_object_check(const char *path, const char *shown, tla_error *error) {
    object o = {0};
    tla_status status = read_whole(path, &o, error);
    if (!status) status = check_object(&o, shown, error);
    free(o.bytes);
    return status;
}
