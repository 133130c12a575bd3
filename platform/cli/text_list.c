/* Texts of a command line that an option collects, --set for one. */
#include "cli/text_list.h"

#include "model/base/grow.h"

#include <stdlib.h>

bool text_list_add(text_list *list, const char *text) {
    if (!tla_grow_by_one(&list->items, list->count, sizeof *list->items)) return false;
    list->items[list->count++] = text;
    return true;
}

void text_list_clear(text_list *list) {
    free(list->items);
    *list = (text_list){0};
}
