#include "bind.h"

namespace crfkit {

void bind_ingest(nb::module_&) {}

}  // namespace crfkit
