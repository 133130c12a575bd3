// A component without the function that the factory looks for: its name is that of C++, as without extern "C".
void module_register();
void module_register() {}
